#include "tapconv/device_convolution.hpp"

#include "engine/device_arguments.hpp"
#include "plan/cuda_plan.hpp"

namespace tapconv {
namespace {

const Problem& validated(const Problem& problem) {
  validate(problem);
  return problem;
}

}  // namespace

struct DeviceConvolution::State {
  State(const Problem& problem, int device, const DeviceOptions& given)
      : options(given),
        context(cuda::Context::get(device)),
        plan(problem, context,
             {.workspace_limit = given.workspace_limit, .strided = given.strided, .packed = given.packed}) {}

  /// Of a call whose tensors were checked otherwise.
  void check_pointers(const DeviceTensors& tensors, const void* workspace) const {
    const auto check = [&](const void* pointer, std::string_view field) {
      if (pointer) context.expect_reachable(pointer, field);
    };
    check(tensors.input, "input");
    check(tensors.weight, "weight");
    check(tensors.bias, "bias");
    check(tensors.pointwise_weight, "pointwise_weight");
    check(tensors.pointwise_bias, "pointwise_bias");
    check(tensors.residual, "residual");
    check(tensors.output, "output");
    check(tensors.packed, "packed");
    check(workspace, "workspace");
  }

  DeviceOptions options;
  const cuda::Context& context;
  CudaPlan plan;
};

DeviceConvolution::DeviceConvolution(const Problem& problem, int device, const DeviceOptions& options)
    : state_(std::make_unique<const State>(validated(problem), device, options)) {}
DeviceConvolution::DeviceConvolution(DeviceConvolution&&) noexcept = default;
DeviceConvolution& DeviceConvolution::operator=(DeviceConvolution&&) noexcept = default;
DeviceConvolution::~DeviceConvolution() = default;

const Problem& DeviceConvolution::problem() const noexcept { return state_->plan.problem(); }

int DeviceConvolution::device() const noexcept { return state_->context.device(); }

std::string DeviceConvolution::implementation() const { return state_->plan.solver(); }

std::size_t DeviceConvolution::workspace_bytes(std::span<const std::int64_t> input_shape) const {
  return state_->plan.workspace_bytes(at_input_shape(problem(), input_shape));
}

std::size_t DeviceConvolution::packed_bytes() const noexcept { return state_->plan.packed_bytes(); }

void DeviceConvolution::prepare(const TensorView& weight, const std::optional<TensorView>& pointwise_weight,
                                std::span<std::byte> packed, void* stream) const {
  DeviceCall call = check_prepare(problem(), state_->options, weight, pointwise_weight, packed);
  check_memory(packed, packed_bytes(), "packed");
  if (state_->options.check_pointers) {
    call.tensors.packed = packed.data();
    state_->check_pointers(call.tensors, nullptr);
  }
  state_->plan.prepare(call.tensors, call.strides ? &*call.strides : nullptr, packed.data(), stream);
}

void DeviceConvolution::run(const DeviceViews& tensors, std::span<std::byte> workspace, void* stream) const {
  const DeviceCall call = check_run(problem(), state_->options, tensors, workspace);
  check_memory(workspace, state_->plan.workspace_bytes(call.sized), "workspace");
  check_memory(tensors.packed, packed_bytes(), "packed");
  if (state_->options.check_pointers) state_->check_pointers(call.tensors, workspace.data());
  state_->plan.run(call.sized, call.tensors, call.strides ? &*call.strides : nullptr, workspace.data(), stream);
}

}  // namespace tapconv
