#include "problem/validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

namespace tapconv {
namespace {

// Whatever the element type: the largest takes 8 bytes.
constexpr std::int64_t max_elements = std::numeric_limits<std::int64_t>::max() / 8;

char axis_name(int rank, int axis) { return "DHW"[max_rank - rank + axis]; }

template <class... Arguments>
Violation violation(Field field, int axis, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {field, axis, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

/// Whether `value` is one of the enumeration's; a cast from an integer may have made it anything.
template <class Enumeration, std::size_t count>
bool is_one_of(Enumeration value, const Enumeration (&all)[count]) {
  return std::ranges::find(all, value) != std::end(all);
}

std::optional<Violation> check_enumerations(const Problem& p) {
  constexpr Kind kinds[] = {Kind::convolution, Kind::transposed, Kind::depthwise_separable};
  constexpr PaddingMode modes[] = {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate,
                                   PaddingMode::circular};
  constexpr TieRule rules[] = {TieRule::away, TieRule::even};
  constexpr Layout layouts[] = {Layout::contiguous, Layout::channels_last};
  const std::tuple<Field, bool, int> values[] = {
      {Field::kind, is_one_of(p.kind, kinds), static_cast<int>(p.kind)},
      {Field::padding_mode, is_one_of(p.padding_mode, modes), static_cast<int>(p.padding_mode)},
      {Field::dtype, is_one_of(p.dtype, all_dtypes), static_cast<int>(p.dtype)},
      {Field::out_dtype, is_one_of(p.out_dtype, all_dtypes), static_cast<int>(p.out_dtype)},
      {Field::layout, is_one_of(p.layout, layouts), static_cast<int>(p.layout)},
      {Field::math, is_one_of(p.contract, all_contracts), static_cast<int>(p.contract)},
      {Field::rounding, is_one_of(p.tie_rule, rules), static_cast<int>(p.tie_rule)},
      {Field::activation, is_one_of(p.activation, all_activations), static_cast<int>(p.activation)}};
  for (const auto& [field, valid, value] : values) {
    if (!valid) return violation(field, 0, "{} = {}; valid: a value of the enumeration", name(field), value);
  }
  if (p.rank < 1 || p.rank > max_rank) return violation(Field::rank, 0, "rank = {}; valid: 1, 2 or 3", p.rank);
  return std::nullopt;
}

std::vector<std::string_view> contract_names(DType dtype) {
  std::vector<std::string_view> names;
  for (const Contract contract : all_contracts) {
    if (applies_to(contract, dtype)) names.push_back(name(contract));
  }
  return names;
}

/// What holds whatever the sizes: types, contract, epilogue.
std::optional<Violation> check_arithmetic(const Problem& p) {
  if (!applies_to(p.contract, p.dtype)) {
    return violation(Field::math, 0, "math = {} with dtype = {}; valid: {}", name(p.contract), name(p.dtype),
                     fmt::join(contract_names(p.dtype), ", "));
  }
  if (p.tie_rule != TieRule::away && p.contract != Contract::tf32) {
    return violation(Field::rounding, 0, "rounding = {} with math = {}; valid: with math = tf32 alone",
                     name(p.tie_rule), name(p.contract));
  }
  if ((p.dtype == DType::float64) != (p.out_dtype == DType::float64)) {
    return violation(Field::out_dtype, 0, "out_dtype = {} with dtype = {}; valid: float64 for both or for none",
                     name(p.out_dtype), name(p.dtype));
  }
  if (!std::isfinite(p.negative_slope)) {
    return violation(Field::negative_slope, 0, "negative_slope = {}; valid: a finite number", p.negative_slope);
  }
  if (p.negative_slope != Problem{}.negative_slope && p.activation != Activation::leaky_relu) {
    return violation(Field::negative_slope, 0,
                     "negative_slope = {} with activation = {}; valid: with activation = leaky_relu alone",
                     p.negative_slope, name(p.activation));
  }
  return std::nullopt;
}

/// What one kind of problem has and another has not.
std::optional<Violation> check_kind(const Problem& p) {
  if (p.padding_mode != PaddingMode::zeros && p.kind == Kind::transposed) {
    return violation(Field::padding_mode, 0, "padding_mode = {} for a transposed convolution; valid: zeros",
                     name(p.padding_mode));
  }
  if (p.kind != Kind::depthwise_separable && p.depth_multiplier != 1) {
    return violation(Field::depth_multiplier, 0,
                     "depth_multiplier = {}; valid: 1, other values for a depthwise separable convolution alone",
                     p.depth_multiplier);
  }
  if (p.kind == Kind::depthwise_separable && p.groups != 1) {
    return violation(Field::groups, 0,
                     "groups = {} for a depthwise separable convolution; valid: 1 (its depthwise half has a group per "
                     "channel by itself)",
                     p.groups);
  }
  for (int axis = 0; axis < max_rank; ++axis) {
    const std::int64_t value = p.output_padding[axis];
    if (value == 0) continue;
    if (p.kind != Kind::transposed || axis >= p.rank) {
      return violation(Field::output_padding, 0,
                       "output_padding = {}; valid: 0, other values for the axes of a "
                       "transposed convolution alone",
                       value);
    }
    if (value < 0 || value >= std::max(p.stride[axis], p.dilation[axis])) {
      return violation(Field::output_padding, axis,
                       "output_padding = {} on axis {}; valid: 0 or more, less than stride = {} or dilation = {}",
                       value, axis_name(p.rank, axis), p.stride[axis], p.dilation[axis]);
    }
  }
  for (int axis = p.rank; axis < max_rank; ++axis) {
    if (p.dynamic_input[axis])
      return violation(Field::dynamic, 0, "dynamic input[{}] lies beyond rank = {}; valid: false", axis, p.rank);
  }
  return std::nullopt;
}

/// Every entry of `extent` up to the rank is at least `least`, the others are `neutral`.
std::optional<Violation> check_entries(Field field, const Extent& extent, int rank, std::int64_t least,
                                       std::int64_t neutral) {
  for (int axis = 0; axis < max_rank; ++axis) {
    const std::int64_t value = extent[axis];
    if (axis >= rank && value != neutral) {
      return violation(field, 0, "{}[{}] = {} lies beyond rank = {}; valid: {}", name(field), axis, value, rank,
                       neutral);
    }
    if (axis < rank && value < least) {
      return violation(field, axis, "{} = {} on axis {}; valid: {} or more", name(field), value, axis_name(rank, axis),
                       least);
    }
  }
  return std::nullopt;
}

std::optional<Violation> check_ranges(const Problem& p) {
  const std::pair<Field, std::int64_t> counts[] = {{Field::batch, p.batch},
                                                   {Field::in_channels, p.in_channels},
                                                   {Field::out_channels, p.out_channels},
                                                   {Field::groups, p.groups},
                                                   {Field::depth_multiplier, p.depth_multiplier}};
  for (const auto& [field, value] : counts) {
    if (value < 1) return violation(field, 0, "{} = {}; valid: 1 or more", name(field), value);
  }
  // Padding has no least value here; what it may crop depends on the input.
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::min();
  struct Entries {
    Field field;
    const Extent& extent;
    std::int64_t least, neutral;
  };
  const Entries extents[] = {{Field::input, p.input, 1, 1},          {Field::kernel_size, p.kernel, 1, 1},
                             {Field::stride, p.stride, 1, 1},        {Field::padding, p.padding_lo, any, 0},
                             {Field::padding, p.padding_hi, any, 0}, {Field::dilation, p.dilation, 1, 1}};
  for (const auto& [field, extent, least, neutral] : extents) {
    if (auto found = check_entries(field, extent, p.rank, least, neutral)) return found;
  }
  for (int axis = 0; axis < p.rank; ++axis) {
    for (const std::int64_t value : {p.padding_lo[axis], p.padding_hi[axis]}) {
      // So that sums of positions do not overflow.
      if (value < -max_elements || value > max_elements)
        return violation(Field::padding, axis, "padding = {} on axis {}; valid: {} to {}", value,
                         axis_name(p.rank, axis), -max_elements, max_elements);
    }
  }
  return std::nullopt;
}

/// "1, 2, 4, ..., 64": the smallest divisors of `number` and itself.
std::string some_divisors(std::int64_t number) {
  std::string text;
  int shown = 0;
  // Divisors past the bound are left to the dots: a person wants small ones.
  for (std::int64_t divisor = 1; divisor < number && divisor <= 1000; ++divisor) {
    if (number % divisor != 0) continue;
    if (++shown > 4) break;
    text += fmt::format("{}, ", divisor);
  }
  const bool complete = shown <= 4 && number <= 1000;
  return text + (complete ? "" : "..., ") + fmt::format("{}", number);
}

std::optional<Violation> check_groups(const Problem& p) {
  const bool divides_inputs = p.in_channels % p.groups == 0;
  if (divides_inputs && p.out_channels % p.groups == 0) return std::nullopt;
  return violation(Field::groups, 0,
                   "groups = {} does not divide {} = {}; valid: a common divisor of in_channels and out_channels ({})",
                   p.groups, divides_inputs ? "out_channels" : "in_channels",
                   divides_inputs ? p.out_channels : p.in_channels,
                   some_divisors(std::gcd(p.in_channels, p.out_channels)));
}

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::optional<Violation> check_padding_mode(const Problem& p, int axis) {
  if (p.padding_mode == PaddingMode::zeros || p.padding_mode == PaddingMode::replicate) return std::nullopt;
  // Each position outside must have one inside that stands for it, as in PyTorch.
  const std::int64_t most = p.padding_mode == PaddingMode::reflect ? p.input[axis] - 1 : p.input[axis];
  const std::int64_t padding = std::max(p.padding_lo[axis], p.padding_hi[axis]);
  if (padding <= most) return std::nullopt;
  return violation(Field::padding, axis, "padding = {} with padding_mode = {} on axis {}; valid: at most {}{}", padding,
                   name(p.padding_mode), axis_name(p.rank, axis), most,
                   p.padding_mode == PaddingMode::reflect ? ", one less than the input" : ", the input");
}

std::optional<Violation> check_convolution_extent(const Problem& p, int axis, std::int64_t reach) {
  const char letter = axis_name(p.rank, axis);
  std::int64_t padded = 0, cropped = 0;
  const std::int64_t crop_lo = std::min<std::int64_t>(p.padding_lo[axis], 0),
                     crop_hi = std::min<std::int64_t>(p.padding_hi[axis], 0);
  if (__builtin_add_overflow(p.input[axis], crop_lo, &cropped) || __builtin_add_overflow(cropped, crop_hi, &cropped) ||
      cropped < 1) {
    return violation(Field::padding, axis,
                     "padding = {} and {} on axis {} crops more than the input of {} has; valid: "
                     "padding that leaves a position of the input",
                     p.padding_lo[axis], p.padding_hi[axis], letter, p.input[axis]);
  }
  if (__builtin_add_overflow(p.input[axis], p.padding_lo[axis], &padded) ||
      __builtin_add_overflow(padded, p.padding_hi[axis], &padded)) {
    return violation(Field::padding, axis,
                     "padding = {} and {} on axis {} is too large; valid: at most {} padded positions",
                     p.padding_lo[axis], p.padding_hi[axis], letter, largest);
  }
  if (padded <= reach) {
    return violation(Field::kernel_size, axis,
                     "kernel_size = {} with dilation = {} spans {} positions on axis {}; valid: at most {}, "
                     "the padded input",
                     p.kernel[axis], p.dilation[axis], reach + 1, letter, padded);
  }
  return check_padding_mode(p, axis);
}

std::optional<Violation> check_transposed_extent(const Problem& p, int axis, std::int64_t reach) {
  const char letter = axis_name(p.rank, axis);
  std::int64_t output = 0;
  if (__builtin_mul_overflow(p.input[axis] - 1, p.stride[axis], &output) ||
      __builtin_add_overflow(output, reach + 1, &output) ||
      __builtin_add_overflow(output, p.output_padding[axis], &output) ||
      __builtin_sub_overflow(output, p.padding_lo[axis], &output) ||
      __builtin_sub_overflow(output, p.padding_hi[axis], &output)) {
    return violation(Field::stride, axis,
                     "stride = {} with input = {} on axis {} gives too long an output; valid: at "
                     "most {} positions",
                     p.stride[axis], p.input[axis], letter, largest);
  }
  if (output < 1) {
    return violation(Field::padding, axis,
                     "padding = {} and {} on axis {} leaves no output; valid: together at most {}", p.padding_lo[axis],
                     p.padding_hi[axis], letter, output + p.padding_lo[axis] + p.padding_hi[axis] - 1);
  }
  return std::nullopt;
}

std::optional<Violation> check_extents(const Problem& p) {
  for (int axis = 0; axis < p.rank; ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(p.dilation[axis], p.kernel[axis] - 1, &reach) || reach == largest) {
      return violation(Field::dilation, axis,
                       "dilation = {} with kernel_size = {} on axis {} is too large; valid: "
                       "dilation * (kernel_size - 1) below {}",
                       p.dilation[axis], p.kernel[axis], axis_name(p.rank, axis), largest);
    }
    auto found =
        p.kind == Kind::transposed ? check_transposed_extent(p, axis, reach) : check_convolution_extent(p, axis, reach);
    if (found) return found;
  }
  return std::nullopt;
}

bool too_large(const std::vector<std::int64_t>& shape) {
  std::int64_t room = max_elements;
  for (const std::int64_t size : shape) room /= size;
  return room == 0;
}

std::optional<Violation> check_counts(const Problem& p) {
  std::int64_t between = 0;
  if (__builtin_mul_overflow(p.in_channels, p.depth_multiplier, &between)) {
    return violation(Field::depth_multiplier, 0,
                     "depth_multiplier = {} with in_channels = {} is too large; valid: at "
                     "most {} channels",
                     p.depth_multiplier, p.in_channels, largest);
  }
  struct Tensor {
    std::string_view name;
    Field field;
    std::vector<std::int64_t> shape;
  };
  // The number of products of an output needs no check: it is at most the number of weights.
  std::vector<Tensor> tensors{{"input", Field::input, input_shape(p)},
                              {"weight", Field::kernel_size, weight_shape(p)},
                              {"output", Field::input, output_shape(p)}};
  if (p.kind == Kind::depthwise_separable) {
    std::vector<std::int64_t> depthwise = output_shape(p);
    depthwise[1] = between;
    tensors.push_back({"depthwise output", Field::input, std::move(depthwise)});
    tensors.push_back({"pointwise weight", Field::out_channels, pointwise_weight_shape(p)});
  }
  for (const auto& [name, field, shape] : tensors) {
    if (too_large(shape)) {
      return violation(field, 0, "{} of shape ({}) is too large; valid: at most {} elements", name,
                       fmt::join(shape, ", "), max_elements);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Field field) noexcept {
  switch (field) {
    case Field::kind:
      return "kind";
    case Field::rank:
      return "rank";
    case Field::batch:
      return "batch";
    case Field::input:
      return "input";
    case Field::in_channels:
      return "in_channels";
    case Field::out_channels:
      return "out_channels";
    case Field::kernel_size:
      return "kernel_size";
    case Field::stride:
      return "stride";
    case Field::padding:
      return "padding";
    case Field::output_padding:
      return "output_padding";
    case Field::dilation:
      return "dilation";
    case Field::groups:
      return "groups";
    case Field::depth_multiplier:
      return "depth_multiplier";
    case Field::bias:
      return "bias";
    case Field::padding_mode:
      return "padding_mode";
    case Field::dtype:
      return "dtype";
    case Field::out_dtype:
      return "out_dtype";
    case Field::layout:
      return "layout";
    case Field::math:
      return "math";
    case Field::rounding:
      return "rounding";
    case Field::residual:
      return "residual";
    case Field::activation:
      return "activation";
    case Field::negative_slope:
      return "negative_slope";
    case Field::dynamic:
      return "dynamic";
  }
  return "?";
}

std::optional<Violation> find_violation(const Problem& problem) {
  // Each check relies on those before it.
  for (const auto check :
       {check_enumerations, check_arithmetic, check_ranges, check_kind, check_groups, check_extents, check_counts}) {
    if (auto found = check(problem)) return found;
  }
  return std::nullopt;
}

}  // namespace tapconv
