// A transposed convolution as a convolution of stride 1, the forward one: its outputs are the places of a class of
// outputs (see TapClass), its output channels those of every class, and its taps all that some class has. Where a class
// lacks a tap the weight is 0. A convolution is its own.
#pragma once

#include "tapconv/shared/geometry.cuh"

namespace tapconv::shared {

constexpr long long greatest_common_divisor(long long a, long long b) {
  while (b != 0) {
    const long long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Of a transposed axis, class `number`: where all residues of the output are reached, that of the outputs congruent to
// `number`.
constexpr TapClass forward_class(const Axis& axis, long long number) {
  if (axis.tap_step != axis.stride || axis.kernel < axis.stride) return tap_class(axis, true, number);
  const long long place = ((number + axis.padding) % axis.stride + axis.stride) % axis.stride;
  return tap_class(axis, true, place * axis.tap_inverse % axis.stride);
}

// Whether the outputs of all classes of an axis follow each other: place q of class c is output classes*q + c.
constexpr bool is_interleaved(const Axis& axis) { return axis.tap_step == axis.stride && axis.kernel >= axis.stride; }

// The first output of class `number`, as forward_class() has it.
constexpr long long forward_origin(const Axis& axis, int number) {
  if (is_interleaved(axis)) return number;
  const long long begin = (axis.stride - axis.padding % axis.stride) % axis.stride, step = axis.dilation % axis.stride;
  // Most are small: 32 bits are a division of few instructions.
  if (axis.stride <= 1 << 15)
    return (number * static_cast<int>(step) + static_cast<int>(begin)) % static_cast<int>(axis.stride);
  return (number * step + begin) % axis.stride;
}

// The forward convolution's axis of a transposed one.
constexpr Axis forward_axis(const Axis& axis) {
  const long long dilation = -tap_class(axis, true, 0).offset_step;  // of every class
  long long lowest = 0, highest = 0, step = 0;
  for (long long i = 0; i < tap_classes(axis, true); ++i) {
    const TapClass part = tap_class(axis, true, i);
    const long long low = part.first_offset + part.offset_step * (part.taps - 1);
    if (i == 0) lowest = highest = part.first_offset;
    // Of the distances of all taps from each other.
    step = greatest_common_divisor(
        step, part.first_offset < highest ? highest - part.first_offset : part.first_offset - highest);
    if (part.taps > 1) step = greatest_common_divisor(step, dilation);
    if (low < lowest) lowest = low;
    if (part.first_offset > highest) highest = part.first_offset;
  }
  if (step == 0) step = 1;
  return {.input = axis.input,
          .output = axis.output == 0 ? 0 : (axis.output - 1) / axis.stride + 1,
          .kernel = (highest - lowest) / step + 1,
          .stride = 1,
          .dilation = step,
          .padding = -lowest,
          .inside = axis.inside && axis.stride == 1};
}

// The filter's position that is tap `tap` of class `number` of an axis; -1 if the class lacks it. An output that lies
// `origin` behind the stride's multiple q meets input q + offset through the tap t for which
// origin = offset*stride + t*dilation - padding.
constexpr long long forward_tap(const Axis& axis, const Axis& forward, int number, int tap) {
  const long long offset = tap * forward.dilation - forward.padding;
  const long long distance = forward_origin(axis, number) + axis.padding - offset * axis.stride;
  // Of 32 bits where that is known to do.
  const bool is_short = axis.kernel * axis.dilation < 1 << 30;
  if (distance < 0 || distance >= axis.kernel * axis.dilation) return -1;
  const long long position =
      is_short ? static_cast<int>(distance) / static_cast<int>(axis.dilation) : distance / axis.dilation;
  return position * axis.dilation == distance ? position : -1;
}

// Of the forward convolution's output channels, of which there are less than 2^31, W's classes count fastest, then the
// channels, then H's and D's classes.
struct ForwardChannel {
  int channel, number[3];  // of the transposed convolution; classes
};
constexpr ForwardChannel forward_channel(const Shape& shape, int index) {
  ForwardChannel to{index, {0, 0, 0}};
  if (!shape.transposed) return to;
  const auto take = [&](long long count) {
    const int rest = index % static_cast<int>(count);
    index /= static_cast<int>(count);
    return rest;
  };
  to.number[2] = take(tap_classes(shape.axis[2], true));
  to.channel = take(shape.out_channels);
  to.number[1] = take(tap_classes(shape.axis[1], true));
  to.number[0] = index;
  return to;
}

constexpr Shape forward_shape(const Shape& shape) {
  Shape to = shape;
  if (!shape.transposed) return to;
  to.transposed = false;
  for (int i = 0; i < 3; ++i) {
    to.axis[i] = forward_axis(shape.axis[i]);
    to.out_channels *= tap_classes(shape.axis[i], true);
  }
  return to;
}

// Whether its outputs lie apart.
constexpr bool is_scattered(const Shape& shape) {
  return shape.transposed && (shape.axis[0].stride > 1 || shape.axis[1].stride > 1 || shape.axis[2].stride > 1);
}

// Whether some class lacks a tap.
constexpr bool lacks_taps(const Shape& shape) {
  const Shape forward = forward_shape(shape);
  for (int i = 0; i < 3; ++i) {
    if (tap_classes(shape.axis[i], shape.transposed) * forward.axis[i].kernel != shape.axis[i].kernel) return true;
  }
  return false;
}

}  // namespace tapconv::shared
