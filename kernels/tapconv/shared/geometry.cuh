// The geometry of convolutions and transposed convolutions: what the host's lowering and the kernels both compute.
#pragma once

namespace tapconv::shared {

// In the order of tapconv::PaddingMode.
enum class Boundary { zeros, reflect, replicate, circular };

// One axis of a convolution; of a transposed one the padding is what is cropped of the output.
struct Axis {
  long long input = 1, output = 1, kernel = 1, stride = 1, dilation = 1;
  long long padding = 0;      // positions before the first
  long long tap_step = 1;     // of a transposed one: stride over the common divisor of stride and dilation
  long long tap_inverse = 0;  // of a transposed one: of dilation over that divisor, modulo tap_step
  bool inside = true;         // no tap ever leaves the input
};

// The part of an axis that one tap convolution computes: output position `origin + step*q` (0 <= q < grid) is the sum
// over 0 <= t < taps of weight position `first_tap + tap_step*t` times input position
// `in_step*q + first_offset + offset_step*t`.
struct TapClass {
  long long grid, in_step, taps, first_offset, offset_step, first_tap, tap_step, origin, step;
};

// How many tap convolutions an axis has: a convolution one, a transposed one at most as many as there are residues of
// the output modulo the stride that a tap reaches. Some may be empty (grid 0).
constexpr long long tap_classes(const Axis& axis, bool transposed) {
  if (!transposed) return 1;
  return axis.kernel < axis.tap_step ? axis.kernel : axis.tap_step;
}

// Taps along an axis where every class has the same number; 0 where they differ.
constexpr long long uniform_taps(const Axis& axis, bool transposed) {
  if (!transposed) return axis.kernel;
  if (axis.kernel < axis.tap_step) return 1;
  return axis.kernel % axis.tap_step == 0 ? axis.kernel / axis.tap_step : 0;
}

// Class `index` of an axis, counted by its first tap.
//
// A convolution's output q meets the inputs q*stride + t*dilation - padding. In a transposed one input i reaches output
// i*stride + t*dilation - padding through tap t: so the taps of the outputs that are congruent to that of tap t are
// t, t + tap_step, ..., and the inputs that they meet lie dilation * tap_step / stride apart, descending.
constexpr TapClass tap_class(const Axis& axis, bool transposed, long long index) {
  if (!transposed)
    return {.grid = axis.output,
            .in_step = axis.stride,
            .taps = axis.kernel,
            .first_offset = -axis.padding,
            .offset_step = axis.dilation,
            .first_tap = 0,
            .tap_step = 1,
            .origin = 0,
            .step = 1};
  const long long place = index * axis.dilation - axis.padding;  // the output of input 0
  const long long origin = (place % axis.stride + axis.stride) % axis.stride;
  return {.grid = origin < axis.output ? (axis.output - origin - 1) / axis.stride + 1 : 0,
          .in_step = 1,
          .taps = (axis.kernel - index - 1) / axis.tap_step + 1,
          .first_offset = (origin - place) / axis.stride,
          .offset_step = -(axis.dilation / (axis.stride / axis.tap_step)),
          .first_tap = index,
          .tap_step = axis.tap_step,
          .origin = origin,
          .step = axis.stride};
}

// Whether any tap reaches an output position of an axis: tap t does if t*dilation = position + padding modulo the
// stride.
constexpr bool is_reached(const Axis& axis, bool transposed, long long position) {
  if (!transposed) return true;
  const long long divisor = axis.stride / axis.tap_step, place = position + axis.padding;
  if (place % divisor != 0) return false;
  const long long rest = (place / divisor % axis.tap_step + axis.tap_step) % axis.tap_step;
  // Both factors are below tap_step.
  if (axis.tap_step <= 1ll << 31) return rest * axis.tap_inverse % axis.tap_step < axis.kernel;
  for (long long tap = 0; tap < tap_classes(axis, transposed); ++tap) {
    if ((place - tap * axis.dilation) % axis.stride == 0) return true;
  }
  return false;
}

// The input position whose value stands at `position` of the padded input; -1 where that is a zero. `position` is one
// that a valid problem reaches. `Index` is wide enough for twice a position.
template <class Index>
constexpr Index source_position(Index position, Index input, Boundary boundary) {
  if (position >= 0 && position < input) return position;
  switch (boundary) {
    case Boundary::zeros:
      return -1;
    case Boundary::reflect:
      return position < 0 ? -position : 2 * (input - 1) - position;
    case Boundary::replicate:
      return position < 0 ? 0 : input - 1;
    case Boundary::circular: {
      const Index rest = position % input;
      return rest < 0 ? rest + input : rest;
    }
  }
  return -1;
}

// Where the elements of an activation tensor lie, in elements: distances along images, channels and D, H, W.
struct Strides {
  long long outer, inner, axis[3];
};

// Where the weights lie: distances of neighbouring groups, output and input channels of a group, and taps.
struct WeightStrides {
  long long group, out_channel, in_channel, axis[3];
};

// A plain problem as a kernel is compiled for it. A number that is 0 is known only at the launch: see Sizes.
struct Shape {
  bool transposed;
  Boundary boundary;
  long long batch, groups, in_channels, out_channels;  // channels of one group
  Axis axis[3];                                        // D, H, W
  bool bias, residual;
  Strides input, output, residual_strides;
  WeightStrides weight;
};

// Whether the direct kernel unrolls a whole plane of taps: not more code than the instruction caches like, and a mask
// of 32 bits that says which taps lie inside.
constexpr bool direct_unrolls(const Shape& shape) {
  long long taps[3];
  for (int i = 0; i < 3; ++i) taps[i] = uniform_taps(shape.axis[i], shape.transposed);
  const long long plane = taps[1] * taps[2];
  return shape.boundary == Boundary::zeros && plane > 0 && plane <= 25 && taps[0] > 0 && taps[0] * plane <= 32;
}

// What a launch knows of a problem.
struct Sizes {
  long long batch;
  long long input[3], output[3];
  Strides input_strides, output_strides, residual_strides;
  WeightStrides weight_strides;
};

}  // namespace tapconv::shared
