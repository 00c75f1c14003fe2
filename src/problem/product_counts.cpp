#include "problem/product_counts.hpp"

#include <algorithm>
#include <cstdlib>

#include "problem/lowering.hpp"

namespace tapconv {
namespace {

/// Taps inside the input along one axis.
struct AxisCounts {
  std::int64_t least = 0, most = 0;
  double total = 0;  ///< over all positions
};

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0); }

/// Taps at or beyond `edge` of the input, seen from a position of the grid.
std::int64_t taps_beyond(const TapAxis& axis, std::int64_t lowest, std::int64_t edge, std::int64_t position) {
  const std::int64_t missing = edge - lowest - axis.in_step * position;
  if (missing <= 0) return axis.taps;
  if (axis.taps == 1) return 0;
  return std::max<std::int64_t>(0, axis.taps - quotient_up(missing, std::abs(axis.offset_step)));
}

/// The first position from which one tap more is beyond `edge` than `beyond`; the end of the grid if there is none.
std::int64_t next_event(const TapAxis& axis, std::int64_t lowest, std::int64_t edge, std::int64_t beyond) {
  if (beyond == axis.taps) return axis.grid;
  const std::int64_t offset = lowest + std::abs(axis.offset_step) * (axis.taps - 1 - beyond);
  return std::min(quotient_up(edge - offset, axis.in_step), axis.grid);
}

/// As the position grows taps enter the input and leave it at its end, the farthest one first. Between two such events
/// the count stays, so it is enough to go from one to the next.
AxisCounts counts(const TapAxis& axis) {
  const std::int64_t lowest = std::min(axis.offset(0), axis.offset(axis.taps - 1));
  AxisCounts result{.least = axis.taps};
  for (std::int64_t position = 0; position < axis.grid;) {
    const std::int64_t entered = taps_beyond(axis, lowest, 0, position);
    const std::int64_t left = taps_beyond(axis, lowest, axis.input, position);
    const std::int64_t next =
        std::min(next_event(axis, lowest, 0, entered), next_event(axis, lowest, axis.input, left));
    result.least = std::min(result.least, entered - left);
    result.most = std::max(result.most, entered - left);
    result.total += static_cast<double>(entered - left) * static_cast<double>(next - position);
    position = next;
  }
  return result;
}

AxisCounts counts(const Problem& problem, int axis) {
  const std::int64_t output = output_extent(problem)[axis];
  const std::int64_t taps = problem.kernel[axis];
  if (problem.padding_mode != PaddingMode::zeros)
    return {.least = taps, .most = taps, .total = static_cast<double>(taps) * static_cast<double>(output)};
  AxisCounts all{.least = taps};
  std::int64_t reached = 0;
  for (const TapAxis& part : lower_axis(problem, axis)) {
    const AxisCounts own = counts(part);
    all.least = std::min(all.least, own.least);
    all.most = std::max(all.most, own.most);
    all.total += own.total;
    reached += part.grid;
  }
  if (reached < output) all.least = 0;
  return all;
}

}  // namespace

ProductCounts product_counts(const Problem& problem) {
  const std::int64_t channels = problem.in_channels / problem.groups;
  ProductCounts result{.least = channels, .most = channels, .mean = static_cast<double>(channels)};
  for (int i = 0; i < problem.rank; ++i) {
    const AxisCounts axis = counts(problem, i);
    result.least *= axis.least;
    result.most *= axis.most;
    result.mean *= axis.total / static_cast<double>(output_extent(problem)[i]);
  }
  return result;
}

}  // namespace tapconv
