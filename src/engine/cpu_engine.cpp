#include "engine/cpu_engine.hpp"

#include <utility>

#include "cpu/engine.hpp"
#include "engine/oracle_engine.hpp"
#include "engine/processor.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

cpu::Weights weights(const HostTensors& tensors) {
  return {.weight = tensors.weight,
          .bias = tensors.bias,
          .pointwise_weight = tensors.pointwise_weight,
          .pointwise_bias = tensors.pointwise_bias};
}

class CpuEngine final : public Executable {
 public:
  CpuEngine(const Problem& problem, HostTensors& tensors, int threads)
      : tensors_(tensors), convolution_(problem, threads) {}

  [[nodiscard]] std::string name() const override { return "oneDNN"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {convolution_.implementation()}; }
  void prepare() override { convolution_.set_weights(weights(tensors_)); }
  void run() override { convolution_.run(tensors_.input, tensors_.residual, tensors_.output); }

 private:
  HostTensors& tensors_;
  cpu::Convolution convolution_;
};

class CpuReference final : public Executable {
 public:
  CpuReference(HostTensors& tensors, cpu::Reference reference) : tensors_(tensors), reference_(std::move(reference)) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("oneDNN {} {}", cpu::version(), reference_.name());
  }
  void prepare() override { reference_.set_weights(weights(tensors_)); }
  void run() override { reference_.run(tensors_.input, tensors_.residual, tensors_.output); }

 private:
  HostTensors& tensors_;
  cpu::Reference reference_;
};

}  // namespace

bool cpu_engine_available() { return true; }

std::string cpu_engine_version() { return cpu::version(); }

std::unique_ptr<Executable> make_cpu_engine(const Problem& problem, HostTensors& tensors, int threads) {
  if (problem.dtype == DType::float64) return std::make_unique<OracleEngine>(problem, tensors);
  return std::make_unique<CpuEngine>(problem, tensors, threads);
}

std::vector<std::unique_ptr<Executable>> make_cpu_references(const Problem& problem, HostTensors& tensors,
                                                             int threads) {
  std::vector<std::unique_ptr<Executable>> all;
  for (cpu::Reference& reference : cpu::references(problem, threads))
    all.push_back(std::make_unique<CpuReference>(tensors, std::move(reference)));
  return all;
}

void describe_cpu(PlanReport& report) {
  report.device_name = processor_info("model name");
  const bool by_onednn = report.problem.dtype != DType::float64;
  report.solver = by_onednn ? "oneDNN" : "oracle";
  report.configuration = by_onednn ? cpu::Convolution(report.problem, report.device.threads).implementation()
                                   : "sums in fp64, compensated";
  std::vector<Verdict> verdicts{
      {.solver = "oneDNN", .supported = by_onednn, .reason = by_onednn ? "" : "dtype = float64"}};
  if (!by_onednn) verdicts.push_back({.solver = "oracle", .supported = true, .reason = {}});
  report.stages = {{.problem = report.problem,
                    .verdicts = std::move(verdicts),
                    .solver = report.solver,
                    .configuration = report.configuration}};
}

}  // namespace tapconv
