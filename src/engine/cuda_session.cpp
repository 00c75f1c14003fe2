#include "engine/cuda_session.hpp"

#include <optional>

#include "cuda/nvml.hpp"
#include "engine/cuda_tensors.hpp"
#include "engine/cudnn_reference.hpp"
#include "engine/host_tensors.hpp"
#include "engine/persisting_l2.hpp"
#include "plan/cuda_plan.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

class CudaEngine final : public Executable {
 public:
  CudaEngine(const Problem& problem, CudaTensors& tensors, const Chooser& chooser = choose_by_default)
      : tensors_(tensors),
        plan_(problem, tensors.context(), {.packed = true, .chooser = chooser}),
        packed_(tensors.context(), plan_.packed_bytes()),
        workspace_(tensors.context(), plan_.workspace_bytes()) {}

  [[nodiscard]] std::string name() const override { return plan_.solver(); }
  void prepare() override { plan_.prepare(tensors_.pointers(), nullptr, packed_.as(), tensors_.stream().handle()); }
  void run() override {
    DeviceTensors tensors = tensors_.pointers();
    tensors.packed = packed_.as();
    plan_.run(tensors, workspace_.as(), tensors_.stream().handle());
  }

 private:
  CudaTensors& tensors_;
  CudaPlan plan_;
  cuda::Buffer packed_, workspace_;
};

class CudaSession final : public Session {
 public:
  CudaSession(const Problem& problem, int device)
      : Session(problem),
        context_(cuda::Context::get(device)),
        tensors_(problem, context_),
        start_(context_),
        stop_(context_) {}

  [[nodiscard]] std::string device_name() const override { return context_.facts().name; }
  void fill(const Recipes& recipes) override { tensors_.fill(recipes); }
  void upload(const Operands& operands) override { tensors_.upload(operands); }
  [[nodiscard]] Operands host_operands() override {
    host_.emplace(problem());
    tensors_.download(*host_);
    return host_->operands();
  }
  void poison() override { tensors_.fill_output(poison_byte); }
  void upload_output(std::span<const std::byte> output) override { tensors_.upload_output(output); }
  [[nodiscard]] Outputs gather(std::span<const std::int64_t> outputs) override { return tensors_.gather(outputs); }
  [[nodiscard]] std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs,
                                                   OperandRounding rounding) override {
    return tensors_.evaluate(outputs, rounding);
  }
  [[nodiscard]] Tensor download() override { return tensors_.download(); }

  Executable& engine() override {
    if (!engine_) engine_.emplace(problem(), tensors_);
    return *engine_;
  }

  [[nodiscard]] std::unique_ptr<Executable> engine_by(const Chooser& chooser) override {
    return std::make_unique<CudaEngine>(problem(), tensors_, chooser);
  }

  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string& library) override {
    expect_cudnn(library);
    return cudnn_references(problem(), tensors_);
  }

  [[nodiscard]] std::unique_ptr<Executable> default_reference(const std::string& library) override {
    expect_cudnn(library);
    return cudnn_default(problem(), tensors_);
  }

  void chill() override {
    reset_persisting_l2(context_);
    tensors_.flush_l2();
  }

  void hold() override {
    tensors_.hold(hold_us_);
    held_ = true;
  }

  [[nodiscard]] double time(Executable& executable) override {
    start_.record(tensors_.stream());
    executable.run();
    stop_.record(tensors_.stream());
    // The device did not wait for long enough: next time it does.
    if (std::exchange(held_, false) && start_.has_completed()) hold_us_ = std::min(2 * hold_us_, most_hold_us);
    stop_.synchronize();
    return stop_.milliseconds_since(start_);
  }

  void synchronize() override { tensors_.stream().synchronize(); }

  [[nodiscard]] Condition condition() override {
    const auto now = cuda::device_condition(context_.device());
    if (!now) return {};
    return {.readings = {{"sm_mhz", now->sm_mhz},
                         {"memory_mhz", now->memory_mhz},
                         {"temperature_c", now->temperature_c},
                         {"power_w", now->power_w}},
            .power_capped = now->power_capped,
            .slowed = now->slowed};
  }

 private:
  static void expect_cudnn(const std::string& library) {
    if (library != "cudnn") fail(ErrorCode::usage, "against = {}; valid on a CUDA device: cudnn", library);
  }

  const cuda::Context& context_;
  CudaTensors tensors_;
  cuda::Event start_, stop_;
  static constexpr int most_hold_us = 10000;
  int hold_us_ = 200;  // several times what a host that has slept needs to launch
  bool held_ = false;
  std::optional<CudaEngine> engine_;
  std::optional<HostTensors> host_;  // what host_operands() brought
};

}  // namespace

std::unique_ptr<Session> open_cuda_session(const Problem& problem, int device) {
  return std::make_unique<CudaSession>(problem, device);
}

}  // namespace tapconv
