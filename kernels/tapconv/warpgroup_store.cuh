// How a warpgroup kernel's sums leave.
#pragma once

#include "tapconv/warpgroup_tile.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupStore : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Index, typename Base::Geometry, typename Base::Tile;
  using Output = typename Config::Output;
  using Epilogue = tapconv::Epilogue<Config>;

  // Of a thread: [segment][block of channels][register]. Register 4j + e of lane l is row 16 * warp + l / 4 + 8 * (e / 2),
  // column 8j + 2 * (l % 4) + e % 2 of the instruction's matrix.
  using Sums = float[tile.segments][tile.channel_blocks][tile.columns / 2];

  // An output position.
  struct Place {
    Index image, at[3];
    bool exists;
  };

  static Place place(const Geometry& geometry, const Tile& tile_at, int segment, int index) {
    const shared::TilePlace in_tile = shared::segment_place(tile, segment, index);
    Place to{.image = tile_at.image + in_tile.image,
             .at = {tile_at.at[0] + in_tile.at[0], tile_at.at[1] + in_tile.at[1], tile_at.at[2] + in_tile.at[2]},
             .exists = true};
    to.exists = to.image < geometry.batch() && to.at[0] < geometry.template axis<0>().output &&
                to.at[1] < geometry.template axis<1>().output && to.at[2] < geometry.template axis<2>().output;
    return to;
  }

  static long long offset(const shared::Strides& strides, const Place& place, long long channel) {
    return place.image * strides.outer + channel * strides.inner + place.at[0] * strides.axis[0] +
           place.at[1] * strides.axis[1] + place.at[2] * strides.axis[2];
  }

  // Stores one sum of output channel `channel` of a group.
  struct Target {
    const Geometry& geometry;
    const shared::Arguments& arguments;
    long long group;

    void operator()(float sum, long long channel, const Place& place) const {
      const long long over_groups = group * shape.out_channels + channel;
      if constexpr (tile.parts == 2) {
        if (!is_finite(sum)) sum = exact_sum(arguments, group, channel, place.image, place.at[0], place.at[1], place.at[2]);
      }
      static_cast<Output*>(arguments.tensors.output)[offset(geometry.output_strides(), place, over_groups)] =
          Epilogue::finish(sum, over_groups, offset(geometry.residual_strides(), place, over_groups),
                           arguments.tensors);
    }
  };

  static bool is_finite(float value) { return (__builtin_bit_cast(unsigned, value) & 0x7f800000u) != 0x7f800000u; }

  // An output by fused multiply-adds: parts of numbers that are not finite, or almost, do not add up. The weights are
  // the sums of their parts.
  static __noinline__ float exact_sum(const shared::Arguments& arguments, long long group, long long channel,
                                      Index image, Index at0, Index at1, Index at2) {
    const Geometry geometry{arguments.sizes};
    const Place place{.image = image, .at = {at0, at1, at2}, .exists = true};
    const shared::Strides strides = geometry.input_strides();
    const float* const weights = static_cast<const float*>(arguments.tensors.weight);
    const typename Config::Input* const input =
        static_cast<const typename Config::Input*>(arguments.tensors.input) + place.image * strides.outer;
    const long long block = group * layout.channel_blocks + channel / layout.block_channels;
    float sum = 0;
    for (long long c = 0; c < shape.in_channels; ++c) {
      for (int tap = 0; tap < layout.taps; ++tap) {
        const int t[3] = {tap / layout.axis[2].taps / layout.axis[1].taps,
                          tap / layout.axis[2].taps % layout.axis[1].taps, tap % layout.axis[2].taps};
        const long long pair = (block * layout.chunks + c / (8 * tile.steps)) * layout.pairs +
                               tap * tile.steps + c / 8 % tile.steps;
        const long long unit =
            pair * layout.pair + c / 4 % 2 * layout.block_channels + channel % layout.block_channels;
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

  template <int i>
  static bool add_source(const Geometry& geometry, const Place& place, int tap, const shared::Strides& strides,
                         long long& offset) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const Index from = shared::source_position(
        Index(place.at[i] * axis.stride + tap * axis.dilation + axis.first),
        Index(geometry.template axis<i>().input), shape.boundary);
    offset += from * strides.axis[i];
    return from >= 0;
  }

  // Stores a warpgroup's sums. `staging` is the warp's, see WarpgroupLayout::staging_bytes.
  static void store(const Sums& sums, const shared::Arguments& arguments, const Geometry& geometry, const Tile& at,
                    int warpgroup, float* staging) {
    const Target target{geometry, arguments, at.group};
    const int first_segment = tile.split_channels ? 0 : warpgroup * tile.segments;
    constexpr int block_channels = tile.pixels_are_rows ? tile.columns : shared::warpgroup_rows;
    const long long first_channel =
        at.channel + (tile.split_channels ? warpgroup * tile.channel_blocks * block_channels : 0);
#pragma unroll
    for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
      for (int b = 0; b < tile.channel_blocks; ++b) {
        const long long channel = first_channel + b * block_channels;
        if constexpr (tile.pixels_are_rows)
          store_rows(sums[s][b], target, geometry, at, first_segment + s, channel);
        else
          store_staged(sums[s][b], target, geometry, at, first_segment + s, channel, staging);
      }
    }
  }

  // Pixels are rows: eight lanes have neighbouring ones.
  static void store_rows(const float (&sums)[tile.columns / 2], const Target& target, const Geometry& geometry,
                         const Tile& at, int segment, long long channel) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Place to = place(geometry, at, segment, 16 * warp + lane / 4 + 8 * half);
      if (!to.exists) continue;
#pragma unroll
      for (int j = 0; j < tile.columns / 8; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const long long k = channel + 8 * j + 2 * (lane % 4) + e;
          if (k < shape.out_channels) target(sums[4 * j + 2 * half + e], k, to);
        }
      }
    }
  }

  // Pixels are columns: 16 channels of up to 64 pixels pass through shared memory, so that a warp's stores are
  // neighbours. Where a segment is a run of outputs in memory, each store begins at a multiple of 32 bytes, wherever
  // the row does: what is left over on the right is stored with the next 64 pixels.
  static constexpr bool is_run = !tile.along_rows && shape.output.axis[2] == 1;
  static constexpr bool channels_last = shape.output.inner == 1;

  static void store_staged(const float (&sums)[tile.columns / 2], const Target& target, const Geometry& geometry,
                           const Tile& at, int segment, long long channel, float* staging) {
    constexpr int pitch = shared::warpgroup_staged_pitch, staged = shared::warpgroup_staged_columns;
    const int lane = threadIdx.x % 32;
    channel += threadIdx.x / 32 % 4 * 16;
#pragma unroll
    for (int first = 0; first < tile.columns; first += staged) {
      __syncwarp();
#pragma unroll
      for (int j = first / 8; j < (first + pitch) / 8 && j < tile.columns / 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<Vector<float, 2>*>(staging + (lane / 4 + 8 * half) * pitch + 8 * j - first +
                                               2 * (lane % 4)) = {sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]};
      }
      __syncwarp();
      constexpr int most = staged < tile.columns ? staged : tile.columns;
      if constexpr (channels_last) {
        for (int i = lane / 16; i < most && first + i < tile.columns; i += 2) {
          const Place to = place(geometry, at, segment, first + i);
          if (to.exists && channel + lane % 16 < shape.out_channels)
            target(staging[lane % 16 * pitch + i], channel + lane % 16, to);
        }
      } else if constexpr (is_run) {
        store_run(target, geometry, place(geometry, at, segment, 0), channel, first, staging);
      } else {
#pragma unroll
        for (int i = 0; i < most; i += 32) {
          const int index = first + i + lane;
          if (index >= tile.columns) continue;
          const Place to = place(geometry, at, segment, index);
          if (!to.exists) continue;
#pragma unroll 4
          for (int k = 0; k < 16; ++k) {
            if (channel + k < shape.out_channels) target(staging[k * pitch + i + lane], channel + k, to);
          }
        }
      }
    }
  }

  static void store_run(const Target& target, const Geometry& geometry, const Place& start, long long channel,
                        int first, const float* staging) {
    constexpr int pitch = shared::warpgroup_staged_pitch, staged = shared::warpgroup_staged_columns;
    constexpr int per_sector = 32 / sizeof(Output);
    const int lane = threadIdx.x % 32;
    const Index left = geometry.template axis<2>().output - start.at[2];
    const int count = left < tile.columns ? int(left) : tile.columns;
    if (!start.exists) return;
    const Output* const row = static_cast<const Output*>(target.arguments.tensors.output) +
                              offset(geometry.output_strides(), start, target.group * shape.out_channels);
#pragma unroll 2
    for (int k = 0; k < 16; ++k) {
      if (channel + k >= shape.out_channels) break;
      const auto address = reinterpret_cast<unsigned long long>(row + (channel + k) * geometry.output_strides().inner);
      const int shift = int((0 - address / sizeof(Output)) % per_sector);
      const auto move = [&](int index) {
        if (index >= count) return;
        Place to = start;
        to.at[2] += index;
        target(staging[k * pitch + index - first], channel + k, to);
      };
      if (first == 0 && lane < shift) move(lane);
#pragma unroll
      for (int i = 0; i < staged; i += 32) move(first + shift + i + lane);
    }
  }
};

}  // namespace tapconv
