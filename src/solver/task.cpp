#include "solver/task.hpp"

#include <algorithm>
#include <cstdlib>

namespace tapconv {
namespace {

constexpr std::int64_t narrow_limit = std::int64_t{1} << 30;

/// The host's axes are the problem's own, W last of three.
int axis_of(const Problem& problem, int i) { return i - (max_rank - problem.rank); }

shared::Strides strides(const TapStrides& from) {
  shared::Strides to{.outer = from.outer, .inner = from.inner, .axis = {}};
  for (int i = 0; i < 3; ++i) to.axis[i] = std::max<std::int64_t>(from.axis[i], 1);
  return to;
}

shared::WeightStrides strides(const WeightStrides& from) {
  shared::WeightStrides to{
      .group = from.group, .out_channel = from.out_channel, .in_channel = from.in_channel, .axis = {}};
  for (int i = 0; i < 3; ++i) to.axis[i] = std::max<std::int64_t>(from.axis[i], 1);
  return to;
}

/// Zeroes what differs between two sizes of the same problem.
void forget_difference(shared::Strides& strides, const shared::Strides& other) {
  const auto forget = [](long long& value, long long there) { value = value == there ? value : 0; };
  forget(strides.outer, other.outer);
  forget(strides.inner, other.inner);
  for (int i = 0; i < 3; ++i) forget(strides.axis[i], other.axis[i]);
}

/// Whether no tap of any class leaves the input. With a dynamic size only what holds for every size counts.
bool always_inside(const Problem& problem, int axis) {
  if (problem.dynamic_input[axis])
    return problem.kind == Kind::convolution && problem.padding_lo[axis] <= 0 && problem.padding_hi[axis] <= 0;
  return std::ranges::all_of(lower_axis(problem, axis), &TapAxis::inside);
}

}  // namespace

DType number_type(const Task& task) { return task.problem.dtype == DType::float64 ? DType::float64 : DType::float32; }

bool is_narrow(const Problem& problem) {
  std::int64_t positions = problem.batch, taps = 1;
  const auto grow = [](std::int64_t& product, std::int64_t factor) {
    if (product < narrow_limit) product *= factor;
  };
  const auto fits = [](std::int64_t value) { return std::abs(value) < narrow_limit; };
  for (int axis = 0; axis < problem.rank; ++axis) {
    grow(positions, output_extent(problem)[axis]);
    grow(taps, problem.kernel[axis]);
    if (!fits(positions) || !fits(taps)) return false;
    if (!fits(problem.input[axis]) || !fits(problem.stride[axis]) || !fits(problem.padding_lo[axis])) return false;
    for (const TapAxis& part : lower_axis(problem, axis)) {
      const auto [low, high] = std::minmax({part.offset(0), part.offset(part.taps - 1)});
      if (!fits(low) || !fits(high) || !fits(part.in_step * (part.grid - 1) + high)) return false;
      if (!fits(part.first_tap + part.tap_step * part.taps) || !fits(part.step)) return false;
    }
  }
  return fits(positions) && fits(taps);
}

shared::Sizes sizes_of(const Problem& whole, bool strided) {
  const Problem problem = strided ? whole : with_joined_axes(whole);
  const TapConvolution conv = lower_channels(problem);
  shared::Sizes sizes{.batch = problem.batch,
                      .input = {1, 1, 1},
                      .output = {1, 1, 1},
                      .input_strides = strides(conv.input),
                      .output_strides = strides(conv.output),
                      .residual_strides = strides(conv.output),
                      .weight_strides = strides(conv.weight)};
  const Extent output = output_extent(problem);
  for (int i = max_rank - problem.rank; i < max_rank; ++i) {
    sizes.input[i] = problem.input[axis_of(problem, i)];
    sizes.output[i] = output[axis_of(problem, i)];
  }
  return sizes;
}

shared::Shape shape_of(const Task& task) {
  const Problem problem = task.strided ? task.problem : with_joined_axes(task.problem);
  const TapConvolution conv = lower_channels(problem);
  shared::Shape shape{.transposed = problem.kind == Kind::transposed,
                      .boundary = static_cast<shared::Boundary>(problem.padding_mode),
                      .batch = problem.dynamic_batch ? 0 : problem.batch,
                      .groups = conv.groups,
                      .in_channels = conv.in_channels,
                      .out_channels = conv.out_channels,
                      .axis = {},
                      .bias = problem.bias,
                      .residual = problem.residual,
                      .input = {},
                      .output = {},
                      .residual_strides = {},
                      .weight = {}};
  Problem longer = problem;  // in every dynamic dimension
  for (int i = max_rank - problem.rank; i < max_rank; ++i) {
    const int axis = axis_of(problem, i);
    shape.axis[i] = shared_axis(problem, axis);
    shape.axis[i].inside = always_inside(problem, axis);
    if (!problem.dynamic_input[axis]) continue;
    shape.axis[i].input = shape.axis[i].output = 0;
    longer.input[axis] += problem.stride[axis];
  }
  if (task.strided) return shape;
  const shared::Sizes here = sizes_of(problem, false), there = sizes_of(longer, false);
  shape.input = here.input_strides;
  shape.output = here.output_strides;
  shape.weight = here.weight_strides;
  forget_difference(shape.input, there.input_strides);
  forget_difference(shape.output, there.output_strides);
  shape.residual_strides = shape.output;
  return shape;
}

}  // namespace tapconv
