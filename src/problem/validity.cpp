#include "problem/validity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

namespace tapconv {
namespace {

constexpr std::int64_t max_elements = std::numeric_limits<std::int64_t>::max() / sizeof(float);

char axis_name(int rank, int axis) { return "DHW"[max_rank - rank + axis]; }

template <class... Arguments>
Violation violation(Field field, int axis, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return {field, axis, fmt::format(format, std::forward<Arguments>(arguments)...)};
}

std::optional<Violation> check_enumerations(const Problem& p) {
  if (p.rank < 1 || p.rank > max_rank) return violation(Field::rank, 0, "rank = {}; valid: 1, 2 or 3", p.rank);
  if (p.contract != Contract::ieee && p.contract != Contract::fp32 && p.contract != Contract::tf32) {
    return violation(Field::math, 0, "math = {}; valid: ieee, fp32 or tf32", static_cast<int>(p.contract));
  }
  if (p.tie_rule != TieRule::away && p.tie_rule != TieRule::even) {
    return violation(Field::rounding, 0, "rounding = {}; valid: rna or rn", static_cast<int>(p.tie_rule));
  }
  return std::nullopt;
}

/// Every entry of `extent` up to the rank is at least `least`, the others are `least` exactly.
std::optional<Violation> check_entries(Field field, const Extent& extent, int rank, std::int64_t least) {
  for (int axis = 0; axis < max_rank; ++axis) {
    const std::int64_t value = extent[axis];
    if (axis >= rank && value != least) {
      return violation(field, 0, "{}[{}] = {} lies beyond rank = {}; valid: {}", name(field), axis, value, rank, least);
    }
    if (value < least) {
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
                                                   {Field::groups, p.groups}};
  for (const auto& [field, value] : counts) {
    if (value < 1) return violation(field, 0, "{} = {}; valid: 1 or more", name(field), value);
  }
  struct Entries {
    Field field;
    const Extent& extent;
    std::int64_t least;
  };
  const Entries extents[] = {{Field::input, p.input, 1},        {Field::kernel_size, p.kernel, 1},
                             {Field::stride, p.stride, 1},      {Field::padding, p.padding_lo, 0},
                             {Field::padding, p.padding_hi, 0}, {Field::dilation, p.dilation, 1}};
  for (const auto& [field, extent, least] : extents) {
    if (auto found = check_entries(field, extent, p.rank, least)) return found;
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

std::optional<Violation> check_extents(const Problem& p) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  for (int axis = 0; axis < p.rank; ++axis) {
    const char letter = axis_name(p.rank, axis);
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(p.dilation[axis], p.kernel[axis] - 1, &reach) || reach == largest) {
      return violation(Field::dilation, axis,
                       "dilation = {} with kernel_size = {} on axis {} is too large; valid: "
                       "dilation * (kernel_size - 1) below {}",
                       p.dilation[axis], p.kernel[axis], letter, largest);
    }
    std::int64_t padded = 0;
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
  }
  return std::nullopt;
}

bool too_large(const std::vector<std::int64_t>& shape) {
  std::int64_t room = max_elements;
  for (const std::int64_t size : shape) room /= size;
  return room == 0;
}

std::optional<Violation> check_counts(const Problem& p) {
  struct Tensor {
    std::string_view name;
    Field field;
    std::vector<std::int64_t> shape;
  };
  // The number of products of an output needs no check: it is at most the number of weights.
  const Tensor tensors[] = {{"input", Field::input, input_shape(p)},
                            {"weight", Field::kernel_size, weight_shape(p)},
                            {"output", Field::input, output_shape(p)}};
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
    case Field::dilation:
      return "dilation";
    case Field::groups:
      return "groups";
    case Field::bias:
      return "bias";
    case Field::math:
      return "math";
    case Field::rounding:
      return "rounding";
    case Field::padding_mode:
      return "padding_mode";
  }
  return "?";
}

std::optional<Violation> find_violation(const Problem& problem) {
  // Each check relies on those before it.
  for (const auto check : {check_enumerations, check_ranges, check_groups, check_extents, check_counts}) {
    if (auto found = check(problem)) return found;
  }
  return std::nullopt;
}

}  // namespace tapconv
