#include "problem/lowering.hpp"

#include <algorithm>
#include <numeric>

namespace tapconv {
namespace {

/// The one tap axis of a convolution: output q meets the inputs q*stride + t*dilation - padding_lo.
TapAxis convolution_axis(const Problem& problem, int axis, std::int64_t output) {
  return {.input = problem.input[axis],
          .grid = output,
          .in_step = problem.stride[axis],
          .taps = problem.kernel[axis],
          .first_offset = -problem.padding_lo[axis],
          .offset_step = problem.dilation[axis],
          .kernel = problem.kernel[axis],
          .output = output};
}

/// Input i reaches output i*stride + t*dilation - padding_lo through tap t. So the taps of the outputs that are
/// congruent to that of tap t are t, t + stride/g, ... with g the common divisor of stride and dilation, and the inputs
/// that they meet lie dilation/g apart, descending.
std::vector<TapAxis> transposed_axes(const Problem& problem, int axis, std::int64_t output) {
  const std::int64_t stride = problem.stride[axis], dilation = problem.dilation[axis], kernel = problem.kernel[axis];
  const std::int64_t divisor = std::gcd(stride, dilation);
  const std::int64_t tap_step = stride / divisor;
  std::vector<TapAxis> classes;
  for (std::int64_t tap = 0; tap < std::min(tap_step, kernel); ++tap) {
    const std::int64_t place = tap * dilation - problem.padding_lo[axis];  // the output of input 0
    const std::int64_t origin = (place % stride + stride) % stride;
    if (origin >= output) continue;
    classes.push_back({.input = problem.input[axis],
                       .grid = (output - origin - 1) / stride + 1,
                       .in_step = 1,
                       .taps = (kernel - tap - 1) / tap_step + 1,
                       .first_offset = (origin - place) / stride,
                       .offset_step = -(dilation / divisor),
                       .first_tap = tap,
                       .tap_step = tap_step,
                       .origin = origin,
                       .step = stride,
                       .kernel = kernel,
                       .output = output});
  }
  std::ranges::sort(classes, {}, &TapAxis::origin);
  return classes;
}

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

std::int64_t floor_modulo(std::int64_t value, std::int64_t modulus) {
  const std::int64_t rest = value % modulus;
  return rest < 0 ? rest + modulus : rest;
}

}  // namespace

bool TapAxis::inside() const {
  if (taps == 0) return true;
  const auto [low, high] = std::minmax({offset(0), offset(taps - 1)});
  return low >= 0 && in_step * (grid - 1) + high < input;
}

std::vector<TapAxis> lower_axis(const Problem& problem, int axis) {
  const std::int64_t output = output_extent(problem)[axis];
  if (problem.kind == Kind::transposed) return transposed_axes(problem, axis, output);
  return {convolution_axis(problem, axis, output)};
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
  if (position >= 0 && position < input) return position;
  switch (mode) {
    case PaddingMode::zeros:
      return std::nullopt;
    case PaddingMode::reflect:
      return position < 0 ? -position : 2 * (input - 1) - position;
    case PaddingMode::replicate:
      return std::clamp<std::int64_t>(position, 0, input - 1);
    case PaddingMode::circular:
      return floor_modulo(position, input);
  }
  return std::nullopt;
}

}  // namespace tapconv
