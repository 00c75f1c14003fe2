#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// One axis of a tap convolution. Along it, output position `origin + step*q` (0 <= q < grid) is the sum over
/// taps 0 <= t < taps of weight position `first_tap + tap_step*t` times input position `in_step*q + offset(t)`;
/// input positions outside [0, input) hold +0 and take part in the sum.
struct TapAxis {
  std::int64_t input = 1;
  std::int64_t grid = 1;
  std::int64_t in_step = 1;
  std::int64_t taps = 1;
  std::int64_t first_offset = 0, offset_step = 0;
  std::int64_t first_tap = 0, tap_step = 1;
  std::int64_t origin = 0, step = 1;
  std::int64_t kernel = 1;  ///< size of the filter that the taps belong to
  std::int64_t output = 1;  ///< size of the output that the grid belongs to

  [[nodiscard]] std::int64_t offset(std::int64_t tap) const { return first_offset + offset_step * tap; }
  /// Whether every tap of every grid position lies inside the input.
  [[nodiscard]] bool inside() const;

  friend bool operator==(const TapAxis&, const TapAxis&) = default;
};

/// The one form that every solver computes. Always three axes, (D, H, W) with W fastest in memory; a problem of
/// lower rank has neutral leading axes.
struct TapConvolution {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_channels = 1;   ///< of one group
  std::int64_t out_channels = 1;  ///< of one group
  std::array<TapAxis, 3> axis;
  bool bias = false;

  /// Number of grid positions of one image, of taps, and of inputs of one channel.
  [[nodiscard]] std::int64_t grid_size() const { return axis[0].grid * axis[1].grid * axis[2].grid; }
  [[nodiscard]] std::int64_t tap_count() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  [[nodiscard]] std::int64_t input_size() const { return axis[0].input * axis[1].input * axis[2].input; }
};

/// The tap convolutions whose outputs together are the problem's output, each position once.
[[nodiscard]] std::vector<TapConvolution> lower(const Problem& problem);

}  // namespace tapconv
