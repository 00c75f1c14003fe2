// How a warpgroup kernel's operands come into shared memory: inputs through registers, where they are rounded, and
// weights as pack() left them.
#pragma once

#include "tapconv/warpgroup_tile.cuh"

namespace tapconv {

// Of offsets within a tile's images.
template <bool narrow>
struct SourceType {
  using Type = int;
};
template <>
struct SourceType<false> {
  using Type = long long;
};

template <class Config>
struct WarpgroupLoad : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Index, typename Base::Geometry, typename Base::Tile, typename Base::Tiles, typename Base::Part;
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

  // The same of a value below `large`, whatever the bits that the tensor core ignores.
  static constexpr float large = 0x1.ffep127f;  // what is rounded to infinity
  static Parts ordinary_parts_of(float value) {
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    if constexpr (tile.parts == 2) {
      const unsigned hi = (bits + 0x1000u) & ~0x1fffu;
      return {hi, __builtin_bit_cast(unsigned, value - __builtin_bit_cast(float, hi)) + 0x1000u};
    } else if constexpr (Config::rounding == shared::Rounding::tf32_rna) {
      return {bits + 0x1000u};
    } else if constexpr (Config::rounding == shared::Rounding::tf32_rn) {
      return {ptx::cvt_rn_tf32_f32(value)};
    } else {
      return {__builtin_bit_cast(unsigned, round_to<Config::rounding>(value))};
    }
  }

  // From tap 0's first channel at a tile's first output to the value of a stored pixel; `none` where it is a zero. In
  // 32 bits where the images of a tile are known to be small enough.
  static constexpr bool narrow_sources = shape.input.outer > 0 && tile.images* shape.input.outer < 1ll << 31;
  using Source = typename SourceType<narrow_sources>::Type;
  static constexpr Source none = Source(1ull << (8 * sizeof(Source) - 1));
  static Source source(const Geometry& geometry, const Tile& at, int pixel) {
    const shared::Strides strides = geometry.input_strides();
    const int image = pixel / layout.image_pitch;
    Source offset = image * Source(strides.outer);
    const bool exists = at.image + image < geometry.batch() &&
                        add_axis<0>(geometry, at, pixel % layout.image_pitch / layout.plane_pitch, strides, offset) &&
                        add_axis<1>(geometry, at, pixel % layout.plane_pitch / layout.row_pitch, strides, offset) &&
                        add_axis<2>(geometry, at, pixel % layout.row_pitch, strides, offset);
    return exists ? offset : none;
  }

  template <int i>
  static bool add_axis(const Geometry& geometry, const Tile& at, int stored, const shared::Strides& strides,
                       Source& offset) {
    constexpr shared::StoredAxis axis = layout.axis[i];
    const shared::Axis whole = geometry.template axis<i>();
    const long long position = axis.position(at.at[i], stored);
    // Beyond what the last output's last tap meets only outputs look that do not exist.
    if (position > (whole.output - 1) * axis.stride + (axis.taps - 1) * axis.dilation + axis.first) return false;
    const Index from = shared::source_position(Index(position), Index(whole.input), shape.boundary);
    offset += from * Source(strides.axis[i]);
    return from >= 0;
  }

  // A loader's work of a chunk: its share of the stored pixels, 8 channels at a time, in rounds of `batch` such items.
  // One round is in flight while the one before is stored.
  static constexpr int loaders = shared::warpgroup_loaders;
  static constexpr int loader_pixels = shared::ceil_divide(layout.pixels, loaders);
  static constexpr int items = loader_pixels * tile.steps;
  static constexpr int rounds = shared::ceil_divide(items, shared::most_loading(tile));
  static constexpr int batch = shared::ceil_divide(items, rounds);

  // What a loader asks for next. `sources` are the loader's own places in shared memory, `loaders` apart.
  struct Cursor {
    const shared::Arguments& arguments;
    const Geometry& geometry;
    const Tiles& all;
    Source* const sources;
    const int thread;
    Part part{all};
    int chunk = part.begin(), round = 0;
    Tile at{};
    const Input* input = nullptr;  // of the tile's group and image

    void enter_tile() {
      if (!part.exists()) return;
      at = Base::tile_at(all, part.tile_index);
      input = static_cast<const Input*>(arguments.tensors.input) + at.image * geometry.input_strides().outer +
              at.group * shape.in_channels * geometry.input_strides().inner;
#pragma unroll 1
      for (int i = 0; i < loader_pixels; ++i) sources[i * loaders] = computed_source(i);
    }

    Source computed_source(int i) const {
      const int pixel = thread + i * loaders;
      return pixel < layout.pixels ? source(geometry, at, pixel) : none;
    }

    void next_round() {
      if (++round < rounds) return;
      round = 0;
      if (++chunk < part.end()) return;
      const bool enters = part.advance();
      chunk = part.begin();
      if (enters) enter_tile();
    }

    Source source_of(int item) const {
      if (!part.exists() || item >= items) return none;
      return sources[item / tile.steps * loaders];
    }

    void ask(float (&values)[8], int item, Source source) const {
      const long long inner = geometry.input_strides().inner;
      const int channel = (chunk * tile.steps + item % tile.steps) * 8;
      const Input* element = input + channel * inner + source;
      ptx::forget(element);  // one address, and distances from it
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const bool exists =
            source != none && (shape.in_channels % (8 * tile.steps) == 0 || channel + c < shape.in_channels);
        values[c] = exists ? load<1>(element + c * inner).at[0] : 0.0f;
      }
    }
  };

  // Loads the inputs of every tile, a stage for each chunk. `thread` counts the loaders; `sources` are those of all.
  // `Barriers` are those of the stages.
  template <class Barriers>
  static void load_inputs(const shared::Arguments& arguments, const Geometry& geometry, const Tiles& all,
                          unsigned memory, const Barriers& barriers, Source* sources, int thread) {
    Cursor cursor{arguments, geometry, all, sources + thread, thread};
    float values[batch][8];
    cursor.enter_tile();
#pragma unroll
    for (int i = 0; i < batch; ++i) cursor.ask(values[i], i, cursor.source_of(i));
    cursor.next_round();
    Ring<tile.input_stages> ring;
    for (Part part{all}; part.exists(); part.advance()) {
#pragma unroll 1
      for (int chunk = part.begin(); chunk < part.end(); ++chunk) {
        ptx::mbarrier_wait(barriers.empty(ring.slot), ring.parity ^ 1);
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
          // Read at once where registers allow.
          Source from[narrow_sources ? batch : 1];
#pragma unroll
          for (int i = 0; i < batch && narrow_sources; ++i) from[i] = cursor.source_of(cursor.round * batch + i);
#pragma unroll
          for (int i = 0; i < batch; ++i) {
            const int item = round * batch + i, pixel = thread + item / tile.steps * loaders;
            if (item < items && ((item / tile.steps + 1) * loaders <= layout.pixels || pixel < layout.pixels))
              put(memory + shared::warpgroup_unit_bytes *
                               (ring.slot * layout.input_stage + item % tile.steps * 2 * layout.pixels + pixel),
                  values[i]);
            const int next = cursor.round * batch + i;
            cursor.ask(values[i], next, narrow_sources ? from[narrow_sources ? i : 0] : cursor.source_of(next));
          }
          cursor.next_round();
        }
        ptx::fence_proxy_async();
        ptx::mbarrier_arrive(barriers.full(ring.slot));
        ring.advance();
      }
    }
  }

  // Two units of a pixel, every part of them.
  static void put(unsigned address, const float (&values)[8]) {
    float magnitudes[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) magnitudes[c] = fabsf(values[c]) + fabsf(values[4 + c]);
    const float magnitude = magnitudes[0] + magnitudes[1] + (magnitudes[2] + magnitudes[3]);
    if (magnitude < large) {
      put_units(address, values, ordinary_parts_of);
    } else {
      float rare[8];
#pragma unroll
      for (int c = 0; c < 8; ++c) ptx::forget(rare[c] = values[c]);  // not computed in any other case
      put_units(address, rare, parts_of);
    }
  }

  template <class PartsOf>
  static void put_units(unsigned address, const float (&values)[8], const PartsOf& of) {
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) {
      unsigned bits[tile.parts][4];
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const Parts parts = of(values[4 * unit + c]);
#pragma unroll
        for (int part = 0; part < tile.parts; ++part) bits[part][c] = parts.at[part];
      }
#pragma unroll
      for (int part = 0; part < tile.parts; ++part)
        ptx::st_shared_v4(address + shared::warpgroup_unit_bytes * (unit * layout.pixels + part * layout.input_part),
                          bits[part]);
    }
  }

  static constexpr bool resident = shared::is_resident(shape, tile, layout);

  // Loads the weights of every tile, one stage after the other. Of one thread.
  template <class Barriers>
  static void load_weights(const shared::Arguments& arguments, const Tiles& all, unsigned memory,
                           const Barriers& barriers) {
    const char* const packed = static_cast<const char*>(arguments.tensors.weight);
    Ring<tile.weight_stages> ring;
    for (Part part{all}; part.exists(); part.advance()) {
      const long long chunks = Base::tile_at(all, part.tile_index).weights() * layout.chunks + part.begin();
      const char* from = packed + chunks * layout.pairs * pair_bytes;
      for (int chunk = part.begin(); chunk < part.end(); ++chunk) {
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
      if (resident && part.is_last()) break;
    }
  }
  static constexpr int pair_bytes = layout.pair * shared::warpgroup_unit_bytes;
  static constexpr int last_pairs = layout.pairs - (layout.stages - 1) * tile.pairs;

  // Packs the weights as [group][block of output channels][chunk][tap][step][part][4 channels][output
  // channel][channel]; channels and taps that do not exist are 0. `output` is where to.
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
      const shared::ForwardChannel of = shared::forward_channel(Base::real, int(k));
      long long place = group * from.group + of.channel * from.out_channel + c * from.in_channel;
      const bool has_tap = Base::template add_tap<0>(of, tap, from, place) &&
                           Base::template add_tap<1>(of, tap, from, place) &&
                           Base::template add_tap<2>(of, tap, from, place);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const bool exists = has_tap && k < shape.out_channels && c + j < shape.in_channels;
        const Parts parts = parts_of(
            exists ? to_number(static_cast<const Weight*>(arguments.tensors.weight)[place + j * from.in_channel])
                   : 0.0f);
#pragma unroll
        for (int part = 0; part < tile.parts; ++part)
          to[4 * ((pair * tile.parts + part) * layout.pair_part + i % layout.pair_part) + j] = parts.at[part];
      }
    }
  }
};

}  // namespace tapconv
