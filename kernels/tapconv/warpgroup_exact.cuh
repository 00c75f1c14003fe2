// Sums that are not finite, which are computed again: of 3xTF32, where parts of numbers that are not finite, or almost,
// do not add up; and where a class lacks a tap, whose weight 0 meets numbers that are not finite.
#pragma once

#include "tapconv/warpgroup_load.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupExact : WarpgroupLoad<Config> {
  using Base = WarpgroupLoad<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Geometry, typename Base::Index, typename Base::Place;

  static constexpr bool needed = tile.parts == 2 || shared::lacks_taps(Base::real);

  static constexpr long long units_of_block = (long long)layout.chunks * layout.pairs * layout.pair;

  static bool is_finite(float value) { return (__builtin_bit_cast(unsigned, value) & 0x7f800000u) != 0x7f800000u; }

  // By fused multiply-adds. The weights are the sums of their parts.
  static float sum(const shared::Arguments& arguments, const Geometry& geometry, long long group, long long channel,
                   const Place& place) {
    const shared::Strides strides = geometry.input_strides();
    const float* const weights = static_cast<const float*>(arguments.tensors.weight);
    const typename Config::Input* const input =
        static_cast<const typename Config::Input*>(arguments.tensors.input) + place.image * strides.outer;
    const float* const block =
        weights + 4 * (group * layout.channel_blocks + channel / layout.block_channels) * units_of_block;
    const shared::ForwardChannel of = shared::forward_channel(Base::real, int(channel));
    float sum = 0;
#pragma unroll 1
    for (int c = 0; c < shape.in_channels; ++c) {
#pragma unroll 1
      for (int tap = 0; tap < layout.taps; ++tap) {
        long long unused = 0;
        if (!Base::template add_tap<0>(of, tap, {}, unused) || !Base::template add_tap<1>(of, tap, {}, unused) ||
            !Base::template add_tap<2>(of, tap, {}, unused))
          continue;
        const long long pair = c / (8 * tile.steps) * (long long)layout.pairs + (tap * tile.steps + c / 8 % tile.steps);
        const float* const at =
            block +
            4 * (pair * layout.pair + (c / 4 % 2 * layout.block_channels + int(channel) % layout.block_channels)) +
            c % 4;
        float weight = *at;
        if constexpr (tile.parts == 2)
          weight += at[4 * layout.pair_part];
        else
          weight = seen(__builtin_bit_cast(unsigned, weight));
        long long from = (group * shape.in_channels + c) * strides.inner;
        const bool exists = add_source<0>(geometry, place, tap, strides, from) &&
                            add_source<1>(geometry, place, tap, strides, from) &&
                            add_source<2>(geometry, place, tap, strides, from);
        sum = multiply_add(exists ? operand(to_number(input[from])) : 0.0f, weight, sum);
      }
    }
    return sum;
  }

 private:
  // What the tensor core sees of an operand.
  static float seen(unsigned bits) { return __builtin_bit_cast(float, bits & ~0x1fffu); }
  static float operand(float value) {
    if constexpr (tile.parts == 2) return value;
    return seen(Base::parts_of(value).at[0]);
  }

  template <int i>
  static bool add_source(const Geometry& geometry, const Place& place, int tap, const shared::Strides& strides,
                         long long& offset) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const Index from = shared::source_position(
        Index(place.at[i] * axis.stride + Base::template tap_along<i>(tap) * axis.dilation + axis.first),
        Index(geometry.template axis<i>().input), shape.boundary);
    offset += from * strides.axis[i];
    return from >= 0;
  }
};

}  // namespace tapconv
