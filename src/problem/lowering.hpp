#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tapconv/problem.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// One axis of a tap convolution. Along it, output position `origin + step*q` (0 <= q < grid) is the sum over
/// taps 0 <= t < taps of weight position `first_tap + tap_step*t` times input position `in_step*q + offset(t)`.
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

/// Where the elements of a tensor lie, in elements: `outer` and `inner` are the distances along its first two axes
/// (images and channels), `axis` along the spatial ones.
struct TapStrides {
  std::int64_t outer = 1, inner = 1;
  std::array<std::int64_t, 3> axis{0, 0, 0};
};

/// Where the weights lie: the distances of neighbouring groups, output channels and input channels of a group, taps.
struct WeightStrides {
  std::int64_t group = 0, out_channel = 0, in_channel = 0;
  std::array<std::int64_t, 3> axis{0, 0, 0};
};

/// The one form that every solver computes. Always three axes, (D, H, W) with W fastest in contiguous memory; a problem
/// of lower rank has neutral leading axes. Input positions outside [0, input) hold what `padding_mode` says; where they
/// hold zeros these are +0 and take part in the sum.
struct TapConvolution {
  std::int64_t batch = 1;
  std::int64_t groups = 1;
  std::int64_t in_channels = 1;   ///< of one group
  std::int64_t out_channels = 1;  ///< of one group
  std::array<TapAxis, 3> axis;
  PaddingMode padding_mode = PaddingMode::zeros;
  bool bias = false;
  TapStrides input, output;  ///< channels are counted over all groups
  WeightStrides weight;

  /// Number of grid positions of one image, of taps, and of inputs of one channel.
  [[nodiscard]] std::int64_t grid_size() const { return axis[0].grid * axis[1].grid * axis[2].grid; }
  [[nodiscard]] std::int64_t tap_count() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  [[nodiscard]] std::int64_t input_size() const { return axis[0].input * axis[1].input * axis[2].input; }
};

/// The plain problem that is the same on dense tensors, with neighbouring axes along which the filter is one tap that
/// moves and pads nothing joined in the last of them: a plane of pixels is a row then. Dynamic axes stay as they are.
[[nodiscard]] Problem with_joined_axes(const Problem& problem);

/// One axis of a plain problem in the form that its kernels share; `inside` is left false.
[[nodiscard]] shared::Axis shared_axis(const Problem& problem, int axis);

/// The tap axes whose output positions together are those that a tap reaches along one axis of a plain problem (kind
/// convolution or transposed), each position once, in order of their origins. A convolution has one; a transposed one
/// has one per residue class of the output modulo the stride that any tap reaches, at most as many as taps.
[[nodiscard]] std::vector<TapAxis> lower_axis(const Problem& problem, int axis);

/// What all tap convolutions of a plain problem share: everything but the axes.
[[nodiscard]] TapConvolution lower_channels(const Problem& problem);

/// The tap convolutions whose outputs together are those that any tap reaches, each position once. `problem` is a plain
/// one, see stages(). Outputs in none of them are the epilogue of the bias alone: see reaches_all().
[[nodiscard]] std::vector<TapConvolution> lower(const Problem& problem);

/// Whether the grids of lower() cover the output.
[[nodiscard]] bool reaches_all(const Problem& problem);

/// The input position whose value stands at `position` of the padded input; nothing where that is a zero. `position` is
/// one that a valid problem reaches.
[[nodiscard]] std::optional<std::int64_t> source_position(std::int64_t position, std::int64_t input, PaddingMode mode);

}  // namespace tapconv
