#include "engine/device_arguments.hpp"

#include <algorithm>

#include "engine/dense_operand.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"
#include "problem/views.hpp"
#include "tapconv/convolution.hpp"

namespace tapconv {
namespace {

constexpr std::size_t memory_alignment = 256;

/// The problem's layout and what a caller may do about it, of all tensors of one call.
class Checks {
 public:
  Checks(const Problem& problem, const DeviceOptions& options) : problem_(problem), options_(options) {}

  void tensor(const TensorView& view, std::string_view field, const std::vector<std::int64_t>& shape, DType dtype) {
    check_operand(view, field, shape, dtype);
    const auto bytes = static_cast<std::uintptr_t>(element_bytes(dtype));
    if (reinterpret_cast<std::uintptr_t>(view.data) % bytes != 0)
      fail(ErrorCode::usage, "{} is at {}; valid: a multiple of its elements' {} bytes", field, view.data, bytes);
    if (is_dense(view, problem_.layout)) return;
    all_dense_ = false;
    if (!options_.strided)
      fail(ErrorCode::usage, "{} has strides {}; valid: {} as in a dense {} tensor, or any with the option `strided`",
           field, tuple_text(strides_of(view)), tuple_text(strides_of(view.shape, problem_.layout)),
           name(problem_.layout));
  }

  void bias(const TensorView& view, std::string_view field, std::int64_t count) {
    check_operand(view, field, {count}, problem_.dtype);
    if (!is_dense(view, Layout::contiguous))
      fail(ErrorCode::usage, "{} has a stride of {}; valid: 1", field, view.strides.front());
    tensor(view, field, {count}, problem_.dtype);
  }

  [[nodiscard]] bool all_dense() const { return all_dense_; }

 private:
  const Problem& problem_;
  const DeviceOptions& options_;
  bool all_dense_ = true;
};

const void* data_of(const std::optional<TensorView>& view) { return view ? view->data : nullptr; }

Reach reach_of_memory(std::span<const std::byte> memory) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return {begin, begin + memory.size()};
}

void check_pointwise_weight(const Problem& problem, const std::optional<TensorView>& pointwise_weight) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  check_presence(pointwise_weight.has_value(), separable, "pointwise_weight",
                 separable ? "a pointwise half" : "no pointwise half");
}

void set_weight_strides(DeviceStrides& strides, const Problem& problem, const TensorView& weight,
                        const std::optional<TensorView>& pointwise_weight) {
  const std::vector<Problem> plain = stages(problem);
  strides.weight = weight_strides(plain.front(), strides_of(weight));
  if (pointwise_weight) strides.pointwise_weight = weight_strides(plain.back(), strides_of(*pointwise_weight));
}

/// Refuses what is written where something else of the call lies.
void check_apart(const DeviceViews& views, const TensorView& output, std::span<const std::byte> workspace) {
  if (overlaps_itself(output))
    fail(ErrorCode::usage,
         "output has strides {} for shape {}, by which elements share memory; valid: a place of its own for each",
         tuple_text(output.strides), tuple_text(output.shape));
  const Reach written = reach_of(output), scratch = reach_of_memory(workspace);
  const auto refuse = [](std::string_view what, std::string_view field) {
    fail(ErrorCode::usage, "{} lies in the memory of {}, between its first and last element; valid: apart", what,
         field);
  };
  const auto check = [&](const Reach& read, std::string_view field) {
    if (meet(written, read)) refuse("output", field);
    if (!workspace.empty() && meet(scratch, read)) refuse("workspace", field);
  };
  const auto check_optional = [&](const std::optional<TensorView>& view, std::string_view field) {
    if (view) check(reach_of(*view), field);
  };
  check(reach_of(views.input), "input");
  check_optional(views.weight, "weight");
  check_optional(views.bias, "bias");
  check_optional(views.pointwise_weight, "pointwise_weight");
  check_optional(views.pointwise_bias, "pointwise_bias");
  check_optional(views.residual, "residual");
  if (!views.packed.empty()) check(reach_of_memory(views.packed), "packed");
  if (!workspace.empty() && meet(scratch, written)) refuse("workspace", "output");
}

void check_weights_of_run(Checks& checks, const Problem& problem, bool packed, const DeviceViews& views) {
  if (packed) {
    if (views.weight || views.pointwise_weight)
      fail(ErrorCode::usage, "{} is given; valid with the option `packed`: packed alone",
           views.weight ? "weight" : "pointwise_weight");
    return;
  }
  if (!views.packed.empty()) fail(ErrorCode::usage, "packed is given; valid with the option `packed` alone");
  check_presence(views.weight.has_value(), true, "weight", "a weight");
  check_pointwise_weight(problem, views.pointwise_weight);
  checks.tensor(*views.weight, "weight", weight_shape(problem), problem.dtype);
  if (views.pointwise_weight)
    checks.tensor(*views.pointwise_weight, "pointwise_weight", pointwise_weight_shape(problem), problem.dtype);
}

void check_biases(Checks& checks, const Problem& problem, const DeviceViews& views) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  const std::string_view bias = problem.bias ? "bias=True" : "bias=False";
  check_presence(views.bias.has_value(), problem.bias, "bias", bias);
  check_presence(views.pointwise_bias.has_value(), separable && problem.bias, "pointwise_bias",
                 separable ? bias : "no pointwise half");
  if (views.bias) checks.bias(*views.bias, "bias", bias_count(problem));
  if (views.pointwise_bias) checks.bias(*views.pointwise_bias, "pointwise_bias", pointwise_bias_count(problem));
}

}  // namespace

Problem at_input_shape(const Problem& problem, std::span<const std::int64_t> shape) {
  const std::vector<std::int64_t> planned = input_shape(problem);
  return std::ranges::equal(shape, planned) ? problem : with_input_shape(problem, shape);
}

DeviceCall check_run(const Problem& problem, const DeviceOptions& options, const DeviceViews& views,
                     std::span<const std::byte> workspace) {
  (void)checked_strides(views.input, "input");
  DeviceCall call{.sized = at_input_shape(problem, views.input.shape), .tensors = {}};
  const Problem& sized = call.sized;
  const TensorView output = read_only(views.output);
  const std::vector<std::int64_t> result_shape = output_shape(sized);
  Checks checks(sized, options);
  checks.tensor(views.input, "input", views.input.shape, sized.dtype);
  check_weights_of_run(checks, sized, options.packed, views);
  check_biases(checks, sized, views);
  check_presence(views.residual.has_value(), sized.residual, "residual",
                 sized.residual ? "residual=True" : "residual=False");
  if (views.residual) checks.tensor(*views.residual, "residual", result_shape, sized.out_dtype);
  checks.tensor(output, "output", result_shape, sized.out_dtype);
  check_apart(views, output, workspace);

  call.tensors = {.input = views.input.data,
                  .weight = data_of(views.weight),
                  .bias = data_of(views.bias),
                  .pointwise_weight = data_of(views.pointwise_weight),
                  .pointwise_bias = data_of(views.pointwise_bias),
                  .residual = data_of(views.residual),
                  .output = views.output.data,
                  .packed = views.packed.data()};
  if (checks.all_dense()) return call;
  DeviceStrides& strides = call.strides.emplace();
  strides.input = activation_strides(strides_of(views.input));
  strides.output = activation_strides(strides_of(output));
  if (views.residual) strides.residual = activation_strides(strides_of(*views.residual));
  if (views.weight) set_weight_strides(strides, sized, *views.weight, views.pointwise_weight);
  return call;
}

DeviceCall check_prepare(const Problem& problem, const DeviceOptions& options, const TensorView& weight,
                         const std::optional<TensorView>& pointwise_weight, std::span<const std::byte> packed) {
  if (!options.packed) fail(ErrorCode::usage, "prepare() is called; valid with the option `packed` alone");
  check_pointwise_weight(problem, pointwise_weight);
  Checks checks(problem, options);
  checks.tensor(weight, "weight", weight_shape(problem), problem.dtype);
  if (pointwise_weight)
    checks.tensor(*pointwise_weight, "pointwise_weight", pointwise_weight_shape(problem), problem.dtype);
  const Reach target = reach_of_memory(packed);
  if (meet(target, reach_of(weight)) || (pointwise_weight && meet(target, reach_of(*pointwise_weight))))
    fail(ErrorCode::usage, "packed lies in the memory of the weights; valid: apart");
  DeviceCall call{.sized = problem, .tensors = {.weight = weight.data, .pointwise_weight = data_of(pointwise_weight)}};
  if (!checks.all_dense()) set_weight_strides(call.strides.emplace(), problem, weight, pointwise_weight);
  return call;
}

void check_memory(std::span<const std::byte> memory, std::size_t needed, std::string_view field) {
  if (needed == 0) return;
  if (memory.data() == nullptr || memory.size() < needed)
    fail(ErrorCode::usage, "{} has {} bytes at {}; valid: at least {}", field, memory.size(),
         static_cast<const void*>(memory.data()), needed);
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % memory_alignment != 0)
    fail(ErrorCode::usage, "{} is at {}; valid: a multiple of {} bytes", field, static_cast<const void*>(memory.data()),
         memory_alignment);
}

}  // namespace tapconv
