// How a warpgroup kernel's operands come into shared memory: inputs through registers, where they are rounded, and
// weights as pack() left them.
#pragma once

#include "tapconv/warpgroup_tile.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupLoad : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Index, typename Base::Geometry, typename Base::Tile, typename Base::Tiles;
  using Input = typename Config::Input;
  using Weight = typename Config::Weight;

  // An operand's parts, as bits. What is not finite has a second part of 0.
  struct Parts {
    unsigned at[tile.parts];
  };

  static Parts parts_of(float value) {
    if constexpr (tile.parts == 1) {
      // The tensor core ignores the low 13 bits, so rounding to nearest, ties away, needs no mask. A NaN must not wrap
      // around, nor lose its bits.
      const unsigned bits = __builtin_bit_cast(unsigned, value);
      if constexpr (Config::rounding == shared::Rounding::tf32_rna) return {value == value ? bits + 0x1000u : ~0u};
      return {value == value ? __builtin_bit_cast(unsigned, round_to<Config::rounding>(value)) : ~0u};
    } else {
      const shared::Split split = shared::split_tf32(value);
      return {__builtin_bit_cast(unsigned, value == value ? split.hi : __builtin_bit_cast(float, ~0u)),
              __builtin_bit_cast(unsigned, split.lo)};
    }
  }

  // Where the value of a stored pixel is, before its channels; null where it is a zero.
  static const Input* source(const Geometry& geometry, const Tile& at, const Input* input, int pixel) {
    const shared::Strides strides = geometry.input_strides();
    const int image = pixel / layout.image_pitch;
    if (at.image + image >= geometry.batch()) return nullptr;
    const Input* element = input + (at.image + image) * strides.outer;
    const int stored[3] = {pixel % layout.image_pitch / layout.plane_pitch,
                           pixel % layout.plane_pitch / layout.row_pitch, pixel % layout.row_pitch};
    const bool exists = add_axis<0>(geometry, at, stored[0], strides, element) &&
                        add_axis<1>(geometry, at, stored[1], strides, element) &&
                        add_axis<2>(geometry, at, stored[2], strides, element);
    return exists ? element : nullptr;
  }

  template <int i>
  static bool add_axis(const Geometry& geometry, const Tile& at, int stored, const shared::Strides& strides,
                       const Input*& element) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const shared::Axis whole = geometry.template axis<i>();
    const Index position = Index(axis.position(at.at[i], stored));
    // Beyond what the last output's last tap meets only outputs look that do not exist.
    const Index last = Index((whole.output - 1) * axis.stride + (axis.taps - 1) * axis.dilation + axis.first);
    if (position > last) return false;
    const Index from = shared::source_position(position, Index(whole.input), shape.boundary);
    element += from * strides.axis[i];
    return from >= 0;
  }

  // Pixels whose channels a loader has in flight together, 8 channels each.
  static constexpr int batch = tile.promoted ? 2 : 6;

  // Loads `count` stages of inputs for every tile, one a chunk. `thread` counts the loaders. `Barriers` are those of the
  // stages.
  template <class Barriers>
  static void load_inputs(const shared::Arguments& arguments, const Geometry& geometry, const Tiles& all,
                          unsigned memory, const Barriers& barriers, int thread) {
    const long long inner = geometry.input_strides().inner;
    Ring<tile.input_stages> ring;
    for (long long index = blockIdx.x; index < all.count; index += gridDim.x) {
      const Tile at = Base::tile_at(all, index);
      const Input* const input = static_cast<const Input*>(arguments.tensors.input) + at.group * shape.in_channels * inner;
      for (int chunk = 0; chunk < layout.chunks; ++chunk) {
        bool waited = false;
        // An item is a stored pixel's 8 channels of a step.
        for (int first = thread; first < tile.steps * layout.pixels; first += batch * shared::warpgroup_loaders) {
          float values[batch][8];
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            const int item = first + i * shared::warpgroup_loaders;
            const int channel = (chunk * tile.steps + item / layout.pixels) * 8;
            const Input* element =
                item < tile.steps * layout.pixels ? source(geometry, at, input, item % layout.pixels) : nullptr;
#pragma unroll
            for (int c = 0; c < 8; ++c) {
              const bool inside =
                  element && (shape.in_channels % (8 * tile.steps) == 0 || channel + c < shape.in_channels);
              values[i][c] = inside ? load<1>(element + (channel + c) * inner).at[0] : 0.0f;
            }
          }
          if (!waited) ptx::mbarrier_wait(barriers.empty(ring.slot), ring.parity ^ 1);
          waited = true;
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            const int item = first + i * shared::warpgroup_loaders;
            if (item < tile.steps * layout.pixels)
              put(memory + shared::warpgroup_unit_bytes *
                               (ring.slot * layout.input_stage + item / layout.pixels * 2 * layout.pixels +
                                item % layout.pixels),
                  values[i]);
          }
        }
        if (!waited) ptx::mbarrier_wait(barriers.empty(ring.slot), ring.parity ^ 1);
        ptx::fence_proxy_async();
        ptx::mbarrier_arrive(barriers.full(ring.slot));
        ring.advance();
      }
    }
  }

  // Two units of a pixel, every part of them.
  static void put(unsigned address, const float (&values)[8]) {
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) {
      unsigned bits[tile.parts][4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const Parts parts = parts_of(values[4 * unit + c]);
#pragma unroll
        for (int part = 0; part < tile.parts; ++part) bits[part][c] = parts.at[part];
      }
#pragma unroll
      for (int part = 0; part < tile.parts; ++part)
        ptx::st_shared_v4(address + shared::warpgroup_unit_bytes * (unit * layout.pixels + part * layout.input_part),
                          bits[part]);
    }
  }

  // Whether all weights of a block fit, and are the same for all tiles: they are loaded once.
  static constexpr bool resident =
      shape.groups * layout.channel_blocks == 1 && layout.chunks * layout.stages == tile.weight_stages;

  // Loads the weights of every tile, one stage after the other. Of one thread.
  template <class Barriers>
  static void load_weights(const shared::Arguments& arguments, const Tiles& all, unsigned memory,
                           const Barriers& barriers) {
    const char* const packed = static_cast<const char*>(arguments.tensors.weight);
    Ring<tile.weight_stages> ring;
    for (long long index = blockIdx.x; index < all.count; index += gridDim.x) {
      const char* from = packed + Base::tile_at(all, index).weights() * layout.chunks * layout.pairs * pair_bytes;
      for (int chunk = 0; chunk < layout.chunks; ++chunk) {
        for (int stage = 0; stage < layout.stages; ++stage) {
          const int pairs = stage + 1 < layout.stages ? tile.pairs : last_pairs;
          ptx::mbarrier_wait(barriers.empty(ring.slot), ring.parity ^ 1);
          ptx::mbarrier_arrive_expect_tx(barriers.full(ring.slot), pairs * pair_bytes);
          ptx::cp_async_bulk(memory + ring.slot * layout.weight_stage * shared::warpgroup_unit_bytes, from,
                             pairs * pair_bytes, barriers.full(ring.slot));
          from += pairs * pair_bytes;
          ring.advance();
        }
      }
      if constexpr (resident) break;
    }
  }
  static constexpr int pair_bytes = layout.pair * shared::warpgroup_unit_bytes;
  static constexpr int last_pairs = layout.pairs - (layout.stages - 1) * tile.pairs;

  // Packs the weights as [group][block of output channels][chunk][tap][step][part][4 channels][output channel][channel];
  // channels that do not exist are 0. `output` is where to.
  static void pack(const shared::Arguments& arguments) {
    const Geometry geometry{arguments.sizes};
    const shared::WeightStrides from = geometry.weight_strides();
    constexpr long long units = shape.groups * layout.channel_blocks * layout.chunks * layout.pairs * layout.pair_part;
    unsigned* const to = static_cast<unsigned*>(arguments.tensors.output);
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < units; i += step) {
      const int row = int(i % layout.block_channels), unit = int(i / layout.block_channels % 2);
      const long long pair = i / layout.pair_part;
      const int of_chunk = int(pair % layout.pairs), tap = of_chunk / tile.steps;
      const long long chunk = pair / layout.pairs;
      const long long block = chunk / layout.chunks;
      const long long c = (chunk % layout.chunks * tile.steps + of_chunk % tile.steps) * 8 + unit * 4;
      const long long k = block % layout.channel_blocks * layout.block_channels + row;
      const long long group = block / layout.channel_blocks;
      const int t2 = tap % layout.axis[2].taps, t1 = tap / layout.axis[2].taps % layout.axis[1].taps,
                t0 = tap / layout.axis[2].taps / layout.axis[1].taps;
      const long long place = group * from.group + k * from.out_channel + c * from.in_channel +
                              filter_tap<0>(t0) * from.axis[0] + filter_tap<1>(t1) * from.axis[1] +
                              filter_tap<2>(t2) * from.axis[2];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const bool exists = k < shape.out_channels && c + j < shape.in_channels;
        const Parts parts =
            parts_of(exists ? to_number(static_cast<const Weight*>(arguments.tensors.weight)[place + j * from.in_channel])
                            : 0.0f);
#pragma unroll
        for (int part = 0; part < tile.parts; ++part)
          to[4 * ((pair * tile.parts + part) * layout.pair_part + i % layout.pair_part) + j] = parts.at[part];
      }
    }
  }

  // A transposed problem's taps are stored from the last.
  template <int i>
  static constexpr int filter_tap(int tap) {
    return shape.transposed ? layout.axis[i].taps - 1 - tap : tap;
  }
};

}  // namespace tapconv
