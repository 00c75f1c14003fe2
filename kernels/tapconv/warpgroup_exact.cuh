// Sums of 3xTF32 that are not finite: parts of numbers that are not finite, or almost, do not add up. They are computed
// again.
#pragma once

#include "tapconv/warpgroup_tile.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupExact : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Geometry, typename Base::Index, typename Base::Place;

  static bool is_finite(float value) { return (__builtin_bit_cast(unsigned, value) & 0x7f800000u) != 0x7f800000u; }

  // By fused multiply-adds. The weights are the sums of their parts.
  static float sum(const shared::Arguments& arguments, const Geometry& geometry, long long group, long long channel,
                   const Place& place) {
    const shared::Strides strides = geometry.input_strides();
    const float* const weights = static_cast<const float*>(arguments.tensors.weight);
    const typename Config::Input* const input =
        static_cast<const typename Config::Input*>(arguments.tensors.input) + place.image * strides.outer;
    const long long block = group * layout.channel_blocks + channel / layout.block_channels;
    float sum = 0;
#pragma unroll 1
    for (long long c = 0; c < shape.in_channels; ++c) {
#pragma unroll 1
      for (int tap = 0; tap < layout.taps; ++tap) {
        const int t[3] = {tap / layout.axis[2].taps / layout.axis[1].taps,
                          tap / layout.axis[2].taps % layout.axis[1].taps, tap % layout.axis[2].taps};
        const long long pair =
            (block * layout.chunks + c / (8 * tile.steps)) * layout.pairs + tap * tile.steps + c / 8 % tile.steps;
        const long long unit = pair * layout.pair + c / 4 % 2 * layout.block_channels + channel % layout.block_channels;
        const float w = weights[4 * unit + c % 4] + weights[4 * (unit + layout.pair_part) + c % 4];
        long long from = (group * shape.in_channels + c) * strides.inner;
        const bool exists = add_source<0>(geometry, place, t[0], strides, from) &&
                            add_source<1>(geometry, place, t[1], strides, from) &&
                            add_source<2>(geometry, place, t[2], strides, from);
        sum = multiply_add(exists ? to_number(input[from]) : 0.0f, w, sum);
      }
    }
    return sum;
  }

 private:
  template <int i>
  static bool add_source(const Geometry& geometry, const Place& place, int tap, const shared::Strides& strides,
                         long long& offset) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const Index from = shared::source_position(Index(place.at[i] * axis.stride + tap * axis.dilation + axis.first),
                                               Index(geometry.template axis<i>().input), shape.boundary);
    offset += from * strides.axis[i];
    return from >= 0;
  }
};

}  // namespace tapconv
