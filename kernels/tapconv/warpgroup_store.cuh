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

  // The columns of an instruction that a block stores: each of a cluster its share.
  static constexpr int share = tile.columns / tile.cluster;
  static int first_column() { return tile.cluster == 1 ? 0 : int(blockIdx.x % tile.cluster) * share; }

  // Of a thread: [segment][block of channels][register]. Register 4j + e of lane l is row 16 * warp + l / 4 + 8 * (e /
  // 2), column 8j + 2 * (l % 4) + e % 2 of the instruction's matrix.
  using Sums = float[tile.segments][tile.channel_blocks][share / 2];

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

  // The outputs of one position, or of one that is not far along W. Channels count in the group.
  struct Target {
    const Geometry& geometry;
    const shared::Arguments& arguments;
    long long group;
    Place place;
    long long output, residual;  // of the group's first channel

    Target(const Geometry& geometry, const shared::Arguments& arguments, long long group, const Place& place)
        : geometry(geometry),
          arguments(arguments),
          group(group),
          place(place),
          output(offset(geometry.output_strides(), place, group * shape.out_channels)),
          residual(offset(geometry.residual_strides(), place, group * shape.out_channels)) {}

    Output* at(long long channel) const {
      return static_cast<Output*>(arguments.tensors.output) + output + channel * geometry.output_strides().inner;
    }

    // What is stored of a sum `columns` further along W.
    Output value(float sum, long long channel, int columns = 0) const {
      if constexpr (tile.parts == 2) {
        if (!is_finite(sum))
          sum = exact_sum(arguments, group, channel, place.image, place.at[0], place.at[1], place.at[2] + columns);
      }
      const shared::Strides strides = geometry.residual_strides();
      return Epilogue::finish(sum, group * shape.out_channels + channel,
                              residual + channel * strides.inner + columns * strides.axis[2], arguments.tensors);
    }

    void store(float sum, long long channel) const { *at(channel) = value(sum, channel); }
  };

  static bool is_channel(int channel) {
    return shape.out_channels % layout.block_channels == 0 || channel < shape.out_channels;
  }

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

  template <int i>
  static bool add_source(const Geometry& geometry, const Place& place, int tap, const shared::Strides& strides,
                         long long& offset) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const Index from = shared::source_position(Index(place.at[i] * axis.stride + tap * axis.dilation + axis.first),
                                               Index(geometry.template axis<i>().input), shape.boundary);
    offset += from * strides.axis[i];
    return from >= 0;
  }

  // Stores a warpgroup's sums. `staging` is the warp's, of WarpgroupLayout::staging_bytes.
  static void store(const Sums& sums, const shared::Arguments& arguments, const Geometry& geometry, const Tile& at,
                    int warpgroup, float* staging) {
    const int first_segment = tile.split_channels ? 0 : warpgroup * tile.segments;
    constexpr int block_channels = tile.pixels_are_rows ? tile.columns : shared::warpgroup_rows;
    const int first_channel =
        int(at.channel) + (tile.split_channels ? warpgroup * tile.channel_blocks * block_channels : 0);
    const Block block{arguments, geometry, at};
#pragma unroll
    for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
      for (int b = 0; b < tile.channel_blocks; ++b) {
        const int channel = first_channel + b * block_channels + (tile.pixels_are_rows ? first_column() : 0);
        if constexpr (tile.pixels_are_rows)
          block.store_rows(sums[s][b], first_segment + s, channel);
        else
          block.store_staged(sums[s][b], first_segment + s, channel, staging);
      }
    }
  }

  struct Block {
    const shared::Arguments& arguments;
    const Geometry& geometry;
    const Tile& at;

    Target target(const Place& place) const { return {geometry, arguments, at.group, place}; }

    // Pixels are rows: eight lanes have neighbouring ones.
    void store_rows(const float (&sums)[share / 2], int segment, int channel) const {
      const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Place to = place(geometry, at, segment, 16 * warp + lane / 4 + 8 * half);
        if (!to.exists) continue;
        const Target pixel = target(to);
#pragma unroll
        for (int j = 0; j < share / 8; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int k = channel + 8 * j + 2 * (lane % 4) + e;
            if (is_channel(k)) pixel.store(sums[4 * j + 2 * half + e], k);
          }
        }
      }
    }

    // Pixels are columns: 8 channels of up to 128 pixels pass through shared memory, so that a warp's stores are
    // neighbours.
    void store_staged(const float (&sums)[share / 2], int segment, int channel, float* staging) const {
      const int lane = threadIdx.x % 32;
      channel += threadIdx.x / 32 % 4 * 16;
#pragma unroll
      for (int first = 0; first < share; first += staged) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int from = channel + 8 * half;
          __syncwarp();
#pragma unroll
          for (int j = first / 8; j < (first + pitch) / 8 && j < share / 8; ++j)
            *reinterpret_cast<Vector<float, 2>*>(staging + lane / 4 * pitch + 8 * j - first + 2 * (lane % 4)) = {
                sums[4 * j + 2 * half], sums[4 * j + 2 * half + 1]};
          __syncwarp();
          if constexpr (channels_last)
            store_pixels(segment, from, first, staging);
          else if constexpr (is_run)
            store_run(segment, from, first, staging);
          else
            store_groups(segment, from, first, staging);
        }
      }
    }

    // Channels are neighbours.
    void store_pixels(int segment, int channel, int first, const float* staging) const {
      const int lane = threadIdx.x % 32;
      for (int i = lane / 8; i < staged && first + i < share; i += 4) {
        const Place to = place(geometry, at, segment, first_column() + first + i);
        if (to.exists && is_channel(channel + lane % 8))
          target(to).store(staging[lane % 8 * pitch + i], channel + lane % 8);
      }
    }

    // Eight pixels are neighbours.
    void store_groups(int segment, int channel, int first, const float* staging) const {
      const int lane = threadIdx.x % 32;
#pragma unroll
      for (int i = 0; i < staged; i += 32) {
        const int index = first + i + lane;
        if (index >= share) continue;
        const Place to = place(geometry, at, segment, first_column() + index);
        if (!to.exists) continue;
        const Target pixel = target(to);
#pragma unroll
        for (int k = 0; k < 8; ++k) {
          if (is_channel(channel + k)) pixel.store(staging[k * pitch + i + lane], channel + k);
        }
      }
    }

    // A segment is a run of outputs in memory. Each store begins at a multiple of 32 bytes, wherever the row does: what
    // is left over on the right is stored with the next pixels.
    void store_run(int segment, int channel, int first, const float* staging) const {
      constexpr int per_sector = 32 / sizeof(Output);
      constexpr int length = share < staged ? share : staged;
      const Place start = place(geometry, at, segment, first_column());
      if (!start.exists) return;
      const Target run = target(start);
      const int lane = threadIdx.x % 32;
      const Index left = geometry.template axis<2>().output - start.at[2];
      const int count = (left < share ? int(left) : share) - first;
      Output* row = run.at(channel) + first;
#pragma unroll 4
      for (int k = 0; k < 8; ++k) {
        const int end = is_channel(channel + k) ? count : 0;
        const int shift = int((0 - reinterpret_cast<unsigned long long>(row) / sizeof(Output)) % per_sector);
        int begin = shift + lane;
        ptx::forget(begin);  // so that there is one address, and distances from it
        const float* const from = staging + k * pitch + begin;
        Output* const to = row + begin;
        if (first == 0 && lane < shift && lane < end) to[-shift] = run.value(from[-shift], channel + k, lane);
#pragma unroll
        for (int i = 0; i < length; i += 32) {
          if (begin + i < end) to[i] = run.value(from[i], channel + k, first + begin + i);
        }
        row += geometry.output_strides().inner;
      }
    }
  };
  static constexpr int staged = shared::warpgroup_staged_columns, pitch = shared::warpgroup_staged_pitch;
  static constexpr bool is_run = !tile.along_rows && shape.output.axis[2] == 1;
  static constexpr bool channels_last = shape.output.inner == 1;
};

}  // namespace tapconv
