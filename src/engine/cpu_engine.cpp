#include "engine/cpu_engine.hpp"

#include <utility>

#include "cpu/engine.hpp"
#include "engine/oracle_engine.hpp"
#include "engine/processor.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

std::span<const float> floats(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<float> floats(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class CpuEngine final : public Executable {
 public:
  CpuEngine(const Problem& problem, HostTensors& tensors, int threads)
      : tensors_(tensors), convolution_(problem, threads) {}

  [[nodiscard]] std::string name() const override { return "oneDNN"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {convolution_.implementation()}; }
  void prepare() override {
    convolution_.set_weights(floats(std::as_const(tensors_.weight)), floats(std::as_const(tensors_.bias)));
  }
  void run() override { convolution_.run(floats(std::as_const(tensors_.input)), floats(tensors_.output)); }

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
  void prepare() override {
    reference_.set_weights(floats(std::as_const(tensors_.weight)), floats(std::as_const(tensors_.bias)));
  }
  void run() override { reference_.run(floats(std::as_const(tensors_.input)), floats(tensors_.output)); }

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
  report.solver = "oneDNN";
  report.configuration = cpu::Convolution(report.problem, report.device.threads).implementation();
  report.verdicts = {{.solver = report.solver, .supported = true, .reason = {}}};
}

}  // namespace tapconv
