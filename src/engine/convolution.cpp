#include "tapconv/convolution.hpp"

#include <utility>

#include "engine/convolution_backend.hpp"
#include "engine/dense_operand.hpp"
#include "engine/device.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"
#include "problem/views.hpp"

namespace tapconv {
namespace {

std::unique_ptr<ConvolutionBackend> make_backend(const Problem& problem, const Device& device, int threads) {
  validate(problem);
  expect_hardware(device, "compute");
  const bool cuda = device.kind == Device::Kind::cuda;
  if ((cuda || problem.dtype == DType::float64) && threads != 0) {
    fail(ErrorCode::usage, "threads = {}; valid {}: 0", threads,
         cuda ? "on " + name(device) : "for float64, which the oracle computes on all cores");
  }
  if (cuda) return make_cuda_backend(problem, device.index);
  if (problem.dtype == DType::float64) return make_oracle_backend(problem);
  return make_cpu_backend(problem, threads);
}

/// "(any, 3, 224, any)".
std::string expected_input(const Problem& problem) {
  const std::vector<std::int64_t> shape = input_shape(problem);
  std::string text = problem.dynamic_batch ? "(any" : fmt::format("({}", shape[0]);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    const bool dynamic = axis >= 2 && problem.dynamic_input[axis - 2];
    text += dynamic ? ", any" : fmt::format(", {}", shape[axis]);
  }
  return text + ")";
}

}  // namespace

std::string_view name(Access access) noexcept { return access == Access::used ? "used" : "copied"; }

Problem with_input_shape(const Problem& problem, std::span<const std::int64_t> shape) {
  Problem sized = problem;
  if (shape.size() == static_cast<std::size_t>(problem.rank) + 2) {
    if (problem.dynamic_batch) sized.batch = shape[0];
    for (int axis = 0; axis < problem.rank; ++axis) {
      if (problem.dynamic_input[axis]) sized.input[axis] = shape[axis + 2];
    }
  }
  const std::vector<std::int64_t> expected = input_shape(sized);
  if (!std::equal(shape.begin(), shape.end(), expected.begin(), expected.end())) {
    fail(ErrorCode::usage, "input has shape {}; the problem needs {}", tuple_text(shape), expected_input(problem));
  }
  validate(sized);
  return sized;
}

struct Convolution::State {
  Problem problem;
  std::unique_ptr<ConvolutionBackend> backend;
  bool has_weights = false;
  std::vector<std::byte> input_copy{}, residual_copy{}, output_copy{};  ///< kept from call to call
};

Convolution::Convolution(const Problem& problem, const Device& device, const ConvolutionOptions& options)
    : state_(std::make_unique<State>(
          State{.problem = problem, .backend = make_backend(problem, device, options.threads)})) {}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

const Problem& Convolution::problem() const noexcept { return state_->problem; }

std::string Convolution::implementation() const { return state_->backend->implementation(); }

void Convolution::set_weights(const WeightViews& views) {
  const Problem& p = state_->problem;
  const bool separable = p.kind == Kind::depthwise_separable;
  const std::string_view bias = p.bias ? "bias=True" : "bias=False";
  const std::string_view halves = separable ? "a pointwise half" : "no pointwise half";
  check_presence(views.bias.has_value(), p.bias, "bias", bias);
  check_presence(views.pointwise_weight.has_value(), separable, "pointwise_weight", halves);
  check_presence(views.pointwise_bias.has_value(), separable && p.bias, "pointwise_bias", separable ? bias : halves);

  std::vector<std::byte> buffers[4];
  const auto dense = [&](const std::optional<TensorView>& view, std::string_view field,
                         const std::vector<std::int64_t>& shape,
                         std::vector<std::byte>& buffer) -> std::span<const std::byte> {
    if (!view) return {};
    check_operand(*view, field, shape, p.dtype);
    return dense_operand(*view, field, p.layout, buffer);
  };
  state_->backend->set_weights(
      {.input = {},
       .weight = dense(views.weight, "weight", weight_shape(p), buffers[0]),
       .bias = dense(views.bias, "bias", {bias_count(p)}, buffers[1]),
       .pointwise_weight = dense(views.pointwise_weight, "pointwise_weight", pointwise_weight_shape(p), buffers[2]),
       .pointwise_bias = dense(views.pointwise_bias, "pointwise_bias", {pointwise_bias_count(p)}, buffers[3]),
       .residual = {}});
  state_->has_weights = true;
}

Convolution::Accesses Convolution::run(const TensorView& input, const MutableTensorView& output,
                                       const std::optional<TensorView>& residual) {
  if (!state_->has_weights) fail(ErrorCode::usage, "weight is missing; valid: set_weights() before run()");
  (void)checked_strides(input, "input");
  const Problem problem = with_input_shape(state_->problem, input.shape);
  const TensorView written = read_only(output);
  const std::vector<std::int64_t> result_shape = output_shape(problem);
  check_operand(input, "input", input_shape(problem), problem.dtype);
  check_operand(written, "output", result_shape, problem.out_dtype);
  check_presence(residual.has_value(), problem.residual, "residual",
                 problem.residual ? "residual=True" : "residual=False");
  if (residual) check_operand(*residual, "residual", result_shape, problem.out_dtype);

  if (overlaps_itself(written)) {
    fail(ErrorCode::usage,
         "output has strides {} for shape {}, by which elements share memory; valid: a place of its own for each",
         tuple_text(output.strides), tuple_text(output.shape));
  }
  const auto refuse_shared = [&](const TensorView& view, std::string_view field) {
    if (share_memory(written, view)) {
      fail(ErrorCode::usage, "output lies in the memory of {}, between its first and last element; valid: apart",
           field);
    }
  };
  refuse_shared(input, "input");
  if (residual) refuse_shared(*residual, "residual");

  ConvolutionBackend& backend = *state_->backend;
  if (problem != state_->problem) {
    backend.set_sizes(problem);
    state_->problem = problem;
  }
  const auto access_of = [&](const TensorView& view) {
    return backend.in_place() && usable_in_place(view, problem.layout) ? Access::used : Access::copied;
  };
  Accesses accesses{.input = access_of(input), .output = access_of(written)};
  if (residual) accesses.residual = access_of(*residual);

  const std::span<const std::byte> x = dense_operand(input, "input", problem.layout, state_->input_copy);
  const std::span<const std::byte> r = residual
                                           ? dense_operand(*residual, "residual", problem.layout, state_->residual_copy)
                                           : std::span<const std::byte>{};
  if (usable_in_place(written, problem.layout)) {
    const std::int64_t count = element_count(result_shape);
    backend.run(
        x, r,
        {static_cast<std::byte*>(output.data), static_cast<std::size_t>(count) * element_bytes(problem.out_dtype)});
  } else {
    const std::span<std::byte> y = sized_buffer(written, "output", state_->output_copy);
    backend.run(x, r, y);
    copy_from_dense(y, problem.layout, output);
  }
  return accesses;
}

}  // namespace tapconv
