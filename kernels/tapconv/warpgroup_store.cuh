// How a warpgroup kernel's sums leave.
#pragma once

#include "tapconv/warpgroup_exact.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupStore : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Index, typename Base::Geometry, typename Base::Tile, typename Base::Place;
  using typename Base::BlockSums, typename Base::Sums;
  using Base::place, Base::is_channel, Base::first_column, Base::share;
  using Output = typename Config::Output;
  using Epilogue = tapconv::Epilogue<Config>;
  using Exact = WarpgroupExact<Config>;

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
      const shared::Strides strides = geometry.residual_strides();
      return Epilogue::finish(sum, group * shape.out_channels + channel,
                              residual + channel * strides.inner + columns * strides.axis[2], arguments.tensors);
    }

    void store(float sum, long long channel) const { *at(channel) = value(sum, channel); }
  };

  // Stores a warpgroup's sums. `staging` is the warp's, of WarpgroupLayout::staging_bytes.
  static void store(Sums& sums, const shared::Arguments& arguments, const Geometry& geometry, const Tile& at,
                    int warpgroup, unsigned char* staging) {
    const int first_segment = tile.split_channels ? 0 : warpgroup * tile.segments;
    constexpr int block_channels = tile.pixels_are_rows ? tile.columns : shared::warpgroup_rows;
    const int first_channel =
        int(at.channel) + (tile.split_channels ? warpgroup * tile.channel_blocks * block_channels : 0);
    const Block block{arguments, geometry, at};
#pragma unroll
    for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
      for (int b = 0; b < tile.channel_blocks; ++b) {
        const int channel = first_channel + b * block_channels;
        if constexpr (tile.parts == 2)
          Exact::repair(sums[s][b], arguments, geometry, at, first_segment + s, channel,
                        reinterpret_cast<float*>(staging));
        if constexpr (tile.pixels_are_rows)
          block.store_rows(sums[s][b], first_segment + s, channel);
        else if constexpr (is_run)
          block.store_run(sums[s][b], first_segment + s, channel, staging);
        else
          block.store_staged(sums[s][b], first_segment + s, channel, reinterpret_cast<float*>(staging));
      }
    }
  }

  struct Block {
    const shared::Arguments& arguments;
    const Geometry& geometry;
    const Tile& at;

    Target target(const Place& place) const { return {geometry, arguments, at.group, place}; }

    // Pixels are rows: eight lanes have neighbouring ones.
    void store_rows(const BlockSums& sums, int segment, int channel) const {
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
            const int k = channel + first_column() + 8 * j + 2 * (lane % 4) + e;
            if (is_channel(k)) pixel.store(sums[4 * j + 2 * half + e], k);
          }
        }
      }
    }

    // Pixels are columns: 8 channels of up to 128 pixels pass through shared memory, so that a warp's stores are
    // neighbours.
    void store_staged(const BlockSums& sums, int segment, int channel, float* staging) const {
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

    // A segment is a run of outputs in memory: 8 channels of a piece of it pass through shared memory, placed such that
    // a lane moves a unit of 16 bytes, whatever the run's address. What lies outside of units, at both ends, goes one by
    // one.
    void store_run(const BlockSums& sums, int segment, int channel, unsigned char* staging) const {
      const Place start = place(geometry, at, segment, first_column());
      if (!start.exists) return;
      const Target run = target(start);
      const Index left = geometry.template axis<2>().output - start.at[2];
      const int count = left < share ? int(left) : share;
      const int lane = threadIdx.x % 32, in_row = lane % 4;
      const long long pitch = geometry.output_strides().inner;
      channel += threadIdx.x / 32 % 4 * 16;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int from = channel + 8 * half, own = from + lane / 4;  // channels
#pragma unroll
        for (int first = 0; first < share; first += run_piece) {
          const int columns = count - first < run_piece ? count - first : run_piece;
          Output* const row = run.at(from) + first;
          Output* const mine = row + lane / 4 * pitch;
          const int lead = lead_of(mine);
          Output* const staged = reinterpret_cast<Output*>(staging + lane / 4 * row_bytes) + per_unit - lead;
          __syncwarp();
          stage_pairs(sums, half, first, lead % 2 == 0, staged + 2 * in_row, [&](float sum, int column) {
            column += 2 * in_row;
            // What does not exist has no bias and no residual.
            const bool exists = (!shape.bias && !shape.residual) || (is_channel(own) && first + column < count);
            return exists ? run.value(sum, own, first + column) : Output{};
          });
          __syncwarp();
#pragma unroll
          for (int k = 0; k < 8; ++k) {
            using Unit = Vector<Output, per_unit>;
            const Unit unit = *reinterpret_cast<const Unit*>(staging + k * row_bytes + 16 + 16 * lane);
            Output* const to = row + k * pitch;
            const int begin = lead_of(to) + per_unit * lane;
            if (is_channel(from + k) && begin + per_unit <= columns) *reinterpret_cast<Unit*>(to + begin) = unit;
          }
          const int mine_columns = is_channel(own) ? columns : 0;
          const int end = lead + (columns - lead) / per_unit * per_unit;  // of the units
#pragma unroll
          for (int i = in_row; i < per_unit - 1; i += 4) {
            const Output before = staged[i], after = staged[end + i];
            if (i < lead && i < mine_columns) mine[i] = before;
            if (end + i < mine_columns) mine[end + i] = after;
          }
        }
      }
    }

    // Pairs of a row's sums, `half` of the thread's, from column `first` on.
    template <class Value>
    static void stage_pairs(const BlockSums& sums, int half, int first, bool aligned, Output* to, const Value& value) {
#pragma unroll
      for (int column = 0; column < run_piece && first + column < share; column += 8) {
        const int i = (first + column) / 2 + 2 * half;
        const Output values[] = {value(sums[i], column), value(sums[i + 1], column + 1)};
        if (aligned) {
          *reinterpret_cast<Vector<Output, 2>*>(to + column) = {values[0], values[1]};
        } else {
          to[column] = values[0];
          to[column + 1] = values[1];
        }
      }
    }
  };
  // Columns of a run that are staged at once; a row of them, and where it begins: where its first unit is the second of
  // shared memory.
  static constexpr int run_piece = 512 / sizeof(Output), row_bytes = 512 + 32;
  static constexpr int per_unit = 16 / sizeof(Output);
  // Outputs before the first unit of 16 bytes.
  static int lead_of(const Output* row) {
    return (0u - unsigned(reinterpret_cast<unsigned long long>(row) / sizeof(Output))) % per_unit;
  }
  static constexpr int staged = shared::warpgroup_staged_columns, pitch = shared::warpgroup_staged_pitch;
  static_assert(8 * row_bytes <= shared::warpgroup_staging_bytes && 8 * pitch * 4 <= shared::warpgroup_staging_bytes);
  static constexpr bool is_run = !tile.along_rows && shape.output.axis[2] == 1;
  static constexpr bool channels_last = shape.output.inner == 1;
};

}  // namespace tapconv
