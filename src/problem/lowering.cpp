#include "problem/lowering.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tapconv {
namespace {

TapStrides tensor_strides(const std::vector<std::int64_t>& shape, Layout layout, int rank) {
  const std::vector<std::int64_t> strides = strides_of(shape, layout);
  TapStrides result{.outer = strides[0], .inner = strides[1], .axis = {0, 0, 0}};
  std::copy_n(strides.begin() + 2, rank, result.axis.begin() + (max_rank - rank));
  return result;
}

WeightStrides weight_strides(const Problem& problem) {
  const TapStrides strides = tensor_strides(weight_shape(problem), problem.layout, problem.rank);
  const bool transposed = problem.kind == Kind::transposed;
  // PyTorch's weight has the output channels first, a transposed one's the input channels.
  const std::int64_t first = (transposed ? problem.in_channels : problem.out_channels) / problem.groups;
  return {.group = first * strides.outer,
          .out_channel = transposed ? strides.inner : strides.outer,
          .in_channel = transposed ? strides.outer : strides.inner,
          .axis = strides.axis};
}

}  // namespace

bool TapAxis::inside() const {
  if (taps == 0) return true;
  const auto [low, high] = std::minmax({offset(0), offset(taps - 1)});
  return low >= 0 && in_step * (grid - 1) + high < input;
}

namespace {

/// The number that times `value` is 1 modulo `modulus`, which has no divisor in common with it (extended Euclid).
std::int64_t inverse(std::int64_t value, std::int64_t modulus) {
  std::int64_t a = modulus, b = value % modulus, x = 0, y = 1;
  while (b > 1) {
    const std::int64_t quotient = a / b;
    a = std::exchange(b, a - quotient * b);
    x = std::exchange(y, x - quotient * y);
  }
  return modulus == 1 ? 0 : (y % modulus + modulus) % modulus;
}

}  // namespace

Problem with_joined_axes(const Problem& problem) {
  const Extent output = output_extent(problem);
  const auto is_pointwise = [&](int axis) {
    return problem.kernel[axis] == 1 && problem.stride[axis] == 1 && problem.padding_lo[axis] == 0 &&
           problem.input[axis] == output[axis] && !problem.dynamic_input[axis];
  };
  Problem joined = problem;
  for (int axis = 1; axis < problem.rank; ++axis) {
    if (!is_pointwise(axis - 1) || !is_pointwise(axis)) continue;
    joined.input[axis] *= joined.input[axis - 1];
    joined.input[axis - 1] = 1;
  }
  return joined;
}

shared::Axis shared_axis(const Problem& problem, int axis) {
  const std::int64_t stride = problem.stride[axis], dilation = problem.dilation[axis];
  const bool transposed = problem.kind == Kind::transposed;
  const std::int64_t divisor = std::gcd(stride, dilation);
  return {.input = problem.input[axis],
          .output = output_extent(problem)[axis],
          .kernel = problem.kernel[axis],
          .stride = stride,
          .dilation = dilation,
          .padding = problem.padding_lo[axis],
          .tap_step = transposed ? stride / divisor : 1,
          .tap_inverse = transposed ? inverse(dilation / divisor, stride / divisor) : 0,
          .inside = false};
}

std::vector<TapAxis> lower_axis(const Problem& problem, int axis) {
  const shared::Axis whole = shared_axis(problem, axis);
  const bool transposed = problem.kind == Kind::transposed;
  std::vector<TapAxis> classes;
  for (std::int64_t i = 0; i < shared::tap_classes(whole, transposed); ++i) {
    const shared::TapClass part = shared::tap_class(whole, transposed, i);
    if (part.grid == 0) continue;
    classes.push_back({.input = whole.input,
                       .grid = part.grid,
                       .in_step = part.in_step,
                       .taps = part.taps,
                       .first_offset = part.first_offset,
                       .offset_step = part.offset_step,
                       .first_tap = part.first_tap,
                       .tap_step = part.tap_step,
                       .origin = part.origin,
                       .step = part.step,
                       .kernel = whole.kernel,
                       .output = whole.output});
  }
  std::ranges::sort(classes, {}, &TapAxis::origin);
  return classes;
}

TapConvolution lower_channels(const Problem& problem) {
  return {.batch = problem.batch,
          .groups = problem.groups,
          .in_channels = problem.in_channels / problem.groups,
          .out_channels = problem.out_channels / problem.groups,
          .axis = {},
          .padding_mode = problem.padding_mode,
          .bias = problem.bias,
          .input = tensor_strides(input_shape(problem), problem.layout, problem.rank),
          .output = tensor_strides(output_shape(problem), problem.layout, problem.rank),
          .weight = weight_strides(problem)};
}

std::vector<TapConvolution> lower(const Problem& problem) {
  std::vector<TapConvolution> convolutions{lower_channels(problem)};
  for (int i = 0; i < problem.rank; ++i) {
    const std::vector<TapAxis> classes = lower_axis(problem, i);
    std::vector<TapConvolution> extended;
    for (const TapConvolution& conv : convolutions) {
      for (const TapAxis& axis : classes) extended.emplace_back(conv).axis[max_rank - problem.rank + i] = axis;
    }
    convolutions = std::move(extended);
  }
  return convolutions;
}

bool reaches_all(const Problem& problem) {
  for (int axis = 0; axis < problem.rank; ++axis) {
    std::int64_t reached = 0;
    for (const TapAxis& part : lower_axis(problem, axis)) reached += part.grid;
    if (reached != output_extent(problem)[axis]) return false;
  }
  return true;
}

std::optional<std::int64_t> source_position(std::int64_t position, std::int64_t input, PaddingMode mode) {
  const long long source = shared::source_position<long long>(position, input, static_cast<shared::Boundary>(mode));
  return source < 0 ? std::nullopt : std::optional<std::int64_t>(source);
}

}  // namespace tapconv
