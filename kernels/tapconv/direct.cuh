// The `direct` solver: any convolution by a loop of fused multiply-adds, without a workspace.
//
// Mapping. M = output channels of one group, N = grid positions of one residue class of all images, flattened; the
// reduction runs over channels, then taps. A block owns `channels` (M) x `threads * pixels` (N) outputs; a thread owns
// all of its block's channels at `pixels` positions that lie `threads` apart, so that a warp reads 32 neighbouring
// inputs and writes 32 neighbouring outputs.
//
// Data flow. Weights of a chunk of the reduction: global -> rounded -> shared, as [channel, tap][output channel], so
// that a thread reads four output channels with one broadcast load; prepare() may have packed them so. Inputs: global
// (L1) -> rounded -> registers -> FMA, `vector` neighbouring channels at once where they are neighbours in memory.
//
// A small filter over zero padding is unrolled: every tap is then a constant distance from a pointer, and one bit of a
// mask says whether it lies inside the input. Larger ones go row by row, other boundaries find every source.
//
// Shared memory: pairs x channels numbers, the only array. Registers: channels x pixels accumulators, and a pointer and
// a mask or three coordinates a pixel.
//
// Offsets are 64-bit; coordinates and positions are of Config::Index. Positions outside the input that hold zeros are
// read as +0 and multiplied.
#pragma once

#include "tapconv/epilogue.cuh"
#include "tapconv/geometry.cuh"
#include "tapconv/numbers.cuh"

namespace tapconv {

// How a direct kernel cuts its problem up.
struct DirectTile {
  int threads;        // a block
  int pixels;         // grid positions a thread
  int channels;       // output channels a block
  int pairs;          // (channel, tap) pairs of weights held in shared memory
  int vector;         // input channels read at once
  int vector_stored;  // output channels written at once
  bool packed;        // the weights are as pack() left them
};

template <class Config>
struct Direct {
  using Number = typename Config::Number;
  using Index = typename Config::Index;
  using Unsigned = typename Config::Unsigned;
  using Input = typename Config::Input;
  using Weight = typename Config::Weight;
  using Output = typename Config::Output;
  using Geometry = tapconv::Geometry<Config>;
  using Epilogue = tapconv::Epilogue<Config>;

  static constexpr shared::Shape shape = Config::shape;
  static constexpr DirectTile tile = Config::tile;
  static constexpr bool zeros = shape.boundary == shared::Boundary::zeros;
  static constexpr bool all_inside = shape.axis[0].inside && shape.axis[1].inside && shape.axis[2].inside;

  // Whether all taps of a plane are unrolled: not more code than the instruction caches like, and a mask of 32 bits.
  template <int i>
  static constexpr long long taps = Geometry::template uniform_taps<i>;
  template <int i, class Block>
  static constexpr Index taps_of(const Block& block) {
    return taps<i> > 0 ? Index(taps<i>) : Index(block.axis[i].taps);
  }
  static constexpr bool unrolled =
      zeros && taps<1> * taps<2> > 0 && taps<1>* taps<2> <= 25 && taps<0> > 0 && taps<0>* taps<1>* taps<2> <= 32;
  static constexpr int plane_taps = unrolled ? int(taps<1> * taps<2>) : 1;

  static constexpr long long channel_blocks = (shape.out_channels + tile.channels - 1) / tile.channels;

  static_assert(tile.threads % 32 == 0 && tile.threads <= 1024);
  static_assert(tile.channels >= 1 && tile.pixels >= 1 &&
                    tile.channels * tile.pixels * sizeof(Number) <= 64 * sizeof(float),
                "accumulators would spill");
  static_assert(tile.pairs * tile.channels * sizeof(Number) <= 48 * 1024, "static shared memory");
  static_assert(tile.threads <= tile.pairs, "the sums of one pixel each fit where the weights were");
  static_assert(shape.in_channels % tile.vector == 0 && shape.out_channels % tile.vector_stored == 0 &&
                    tile.channels % tile.vector_stored == 0,
                "no vector crosses the end of a group");

  // Weights read from shared memory at once: 16 bytes, if the rows are made of them.
  static constexpr int broadcast = tile.channels % int(16 / sizeof(Number)) == 0 ? int(16 / sizeof(Number)) : 1;

  using Sums = Number[tile.channels][tile.pixels];

  // A grid position of one class.
  struct Place {
    Index image, q[3];
  };

  // What the first tap of a grid position meets.
  struct Pixel {
    Index position[3];     // input coordinates
    const Input* corner;   // zeros: the group's first channel there, not dereferenced where outside; else the image's
                           // first element of the group
    unsigned taps_inside;  // unrolled: bit (t0 * taps1 + t1) * taps2 + t2
  };

  // One row of taps seen from a pixel.
  struct Row {
    const Input* start;  // zeros: at the row's first tap; else at the third coordinate 0
    bool inside;
  };

  // What a block computes, and where its tensors lie.
  struct Block {
    shared::TapClass axis[3];
    Index input[3];
    shared::Strides strides;       // of the input
    shared::WeightStrides weight;  // of the weights, as PyTorch has them
    Index positions;
    long long group, first_channel;  // of the group
    int channels;                    // that exist
  };

  static Place locate(const Block& block, Index position) {
    const Index g1 = Index(block.axis[1].grid), g2 = Index(block.axis[2].grid);
    const Index plane = Index(block.axis[0].grid) * g1 * g2;
    const Index rest = position % plane, rows = rest / g2;
    return {.image = position / plane, .q = {rows / g1, rows % g1, rest % g2}};
  }

  static Pixel pixel_at(const Block& block, const Place& place, const Input* input) {
    Pixel pixel;
    pixel.corner = input + place.image * block.strides.outer + block.group * shape.in_channels * block.strides.inner;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      pixel.position[i] = Index(block.axis[i].in_step) * place.q[i] + Index(block.axis[i].first_offset);
      if constexpr (zeros) pixel.corner += pixel.position[i] * block.strides.axis[i];
    }
    if constexpr (unrolled) pixel.taps_inside = taps_inside(block, pixel);
    return pixel;
  }

  static unsigned taps_inside(const Block& block, const Pixel& pixel) {
    const unsigned rows = axis_inside<1>(block, pixel), row = axis_inside<2>(block, pixel);
    unsigned plane = 0, all = 0;
#pragma unroll
    for (int t1 = 0; t1 < taps<1>; ++t1) plane |= rows >> t1 & 1u ? row << t1 * taps<2> : 0u;
    const unsigned planes = axis_inside<0>(block, pixel);
#pragma unroll
    for (int t0 = 0; t0 < taps<0>; ++t0) all |= planes >> t0 & 1u ? plane << t0 * plane_taps : 0u;
    return all;
  }

  template <int i>
  static unsigned axis_inside(const Block& block, const Pixel& pixel) {
    unsigned inside = 0;
#pragma unroll
    for (int t = 0; t < taps<i>; ++t)
      inside |= source<i>(block, pixel.position[i] + tap_offset<i>(block, t)).exists ? 1u << t : 0u;
    return inside;
  }

  // From an axis's first tap to another.
  template <int i>
  static Index tap_offset(const Block& block, Index tap) {
    return Index(block.axis[i].offset_step) * tap;
  }

  // The input coordinate whose value a tap meets along an axis, unless that is a zero. Decided at compile time where no
  // tap ever leaves the input.
  struct Source {
    Index at;
    bool exists;
  };

  template <int i>
  static Source source(const Block& block, Index position) {
    if constexpr (shape.axis[i].inside) return {position, true};
    if constexpr (zeros) return {position, Unsigned(position) < Unsigned(block.input[i])};
    return {shared::source_position(position, block.input[i], shape.boundary), true};
  }

  static Row row_of(const Block& block, const Pixel& pixel, long long channel_offset, Index t0, Index t1) {
    const Index o0 = tap_offset<0>(block, t0), o1 = tap_offset<1>(block, t1);
    const Source s0 = source<0>(block, pixel.position[0] + o0), s1 = source<1>(block, pixel.position[1] + o1);
    const long long offset =
        (zeros ? o0 : s0.at) * block.strides.axis[0] + (zeros ? o1 : s1.at) * block.strides.axis[1];
    return {pixel.corner + (channel_offset + offset), s0.exists && s1.exists};
  }

  // Adds the products of one tap, of `vector` channels: `elements` are the pixels' inputs, which count as zero where
  // not `inside`. `weights` is the first channel's; the next channel's lie `channel_pairs` pairs further.
  static void add_tap(Sums& sums, const Input* const (&elements)[tile.pixels], const bool (&inside)[tile.pixels],
                      const Number* weights, int channel_pairs) {
    Number x[tile.vector][tile.pixels];
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      Vector<Input, tile.vector> values{};
      if (inside[p]) values = load<tile.vector>(elements[p]);
#pragma unroll
      for (int v = 0; v < tile.vector; ++v) x[v][p] = round_to<Config::rounding>(Number(to_number(values.at[v])));
    }
#pragma unroll
    for (int v = 0; v < tile.vector; ++v, weights += channel_pairs * tile.channels) {
      Number w[tile.channels];
#pragma unroll
      for (int k = 0; k < tile.channels; k += broadcast) {
        const auto some = *reinterpret_cast<const Vector<Number, broadcast>*>(weights + k);
#pragma unroll
        for (int i = 0; i < broadcast; ++i) w[k + i] = some.at[i];
      }
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) {
#pragma unroll
        for (int p = 0; p < tile.pixels; ++p) sums[k][p] = multiply_add(x[v][p], w[k], sums[k][p]);
      }
    }
  }

  // Tap t2 of a row.
  static void add_row_tap(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels],
                          const Row (&rows)[tile.pixels], Index t2, const Number* weights, int channel_pairs) {
    const Index offset = tap_offset<2>(block, t2);
    const Input* elements[tile.pixels];
    bool inside[tile.pixels];
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      const Source at = source<2>(block, pixels[p].position[2] + offset);
      inside[p] = rows[p].inside && at.exists;
      elements[p] = rows[p].start + (zeros ? offset : at.at) * block.strides.axis[2];
    }
    add_tap(sums, elements, inside, weights, channel_pairs);
  }

  // `count` neighbouring elements, through the read-only cache.
  template <int count, class T>
  static Vector<T, count> load(const T* element) {
    using Bits = Vector<T, count>;
    if constexpr (sizeof(Bits) == 2) {
      return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned short*>(element)));
    } else if constexpr (sizeof(Bits) == 4) {
      return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned*>(element)));
    } else if constexpr (sizeof(Bits) == 8) {
      return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned long long*>(element)));
    } else {
      static_assert(sizeof(Bits) == 16);
      return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const ulonglong2*>(element)));
    }
  }

  // All taps of channels [c, c + vector), whose weights are staged one after the other, `class_taps` pairs each.
  static void add_channels(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                           const Number* weights, int class_taps) {
    if constexpr (unrolled)
      add_unrolled(sums, block, pixels, c, weights);
    else
      add_rows(sums, block, pixels, c, weights, class_taps);
  }

  static void add_rows(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                       const Number* weights, int class_taps) {
    for (Index t0 = 0; t0 < taps_of<0>(block); ++t0) {
      for (Index t1 = 0; t1 < taps_of<1>(block); ++t1) {
        Row rows[tile.pixels];
#pragma unroll
        for (int p = 0; p < tile.pixels; ++p) rows[p] = row_of(block, pixels[p], c * block.strides.inner, t0, t1);
#pragma unroll(8 / tile.vector)
        for (Index t2 = 0; t2 < taps_of<2>(block); ++t2, weights += tile.channels)
          add_row_tap(sums, block, pixels, rows, t2, weights, class_taps);
      }
    }
  }

  static void add_unrolled(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                           const Number* weights) {
#pragma unroll 1
    for (int t0 = 0; t0 < taps<0>; ++t0, weights += plane_taps * tile.channels) {
      const Input* start[tile.pixels];
      unsigned mask[tile.pixels];
#pragma unroll
      for (int p = 0; p < tile.pixels; ++p) {
        start[p] = pixels[p].corner + (c * block.strides.inner + tap_offset<0>(block, t0) * block.strides.axis[0]);
        mask[p] = pixels[p].taps_inside >> t0 * plane_taps;
      }
#pragma unroll
      for (int t = 0; t < plane_taps; ++t) {
        const long long offset = tap_offset<1>(block, t / int(taps<2>)) * block.strides.axis[1] +
                                 tap_offset<2>(block, t % int(taps<2>)) * block.strides.axis[2];
        const Input* elements[tile.pixels];
        bool inside[tile.pixels];
#pragma unroll
        for (int p = 0; p < tile.pixels; ++p) {
          elements[p] = start[p] + offset;
          inside[p] = all_inside || (mask[p] >> t & 1u);
        }
        add_tap(sums, elements, inside, weights + t * tile.channels, int(taps<0>) * plane_taps);
      }
    }
  }

  // Index of a tap of the class in the whole filter, axis by axis.
  template <int i>
  static Index filter_tap(const Block& block, Index tap) {
    return Index(block.axis[i].first_tap) + Index(block.axis[i].tap_step) * tap;
  }

  // Place of the block's first weight of channel c and tap `tap` of the class; its output channels lie `step` apart.
  static long long weight_place(const Block& block, long long c, Index tap) {
    const Index t2 = tap % taps_of<2>(block), rows = tap / taps_of<2>(block);
    const Index t1 = rows % taps_of<1>(block), t0 = rows / taps_of<1>(block);
    const Index f0 = filter_tap<0>(block, t0), f1 = filter_tap<1>(block, t1), f2 = filter_tap<2>(block, t2);
    if constexpr (tile.packed) {
      const long long filter = (f0 * shape.axis[1].kernel + f1) * shape.axis[2].kernel + f2;
      return ((block.group * channel_blocks + block.first_channel / tile.channels) * shape.in_channels + c) *
                 kernel_size * tile.channels +
             filter * tile.channels;
    } else {
      return block.group * block.weight.group + block.first_channel * block.weight.out_channel +
             c * block.weight.in_channel + f0 * block.weight.axis[0] + f1 * block.weight.axis[1] +
             f2 * block.weight.axis[2];
    }
  }
  static constexpr long long kernel_size = shape.axis[0].kernel * shape.axis[1].kernel * shape.axis[2].kernel;

  // Whether the pairs of an output channel follow each other in memory.
  static constexpr long long pair_step = tile.packed ? tile.channels : shape.weight.axis[2];
  static constexpr bool consecutive =
      !shape.transposed && (tile.packed || (shape.weight.axis[2] > 0 &&
                                            shape.weight.axis[1] == shape.weight.axis[2] * shape.axis[2].kernel &&
                                            shape.weight.axis[0] == shape.weight.axis[1] * shape.axis[1].kernel &&
                                            shape.weight.in_channel == shape.weight.axis[0] * shape.axis[0].kernel));

  // Fills weights[i][k] with pair i of the block's k-th output channel: taps [first, first + count) of channel c, and
  // of the channels after it where count exceeds the class's taps. Output channels that do not exist are zero. A thread
  // stays with one output channel.
  static void stage(Number* weights, const Block& block, const void* source, long long c, Index first, int count,
                    Index taps) {
    using Source = typename Select<tile.packed, Number, Weight>::type;
    static_assert(tile.threads % tile.channels == 0);
    constexpr int step = tile.threads / tile.channels, batch = 8;  // loads in flight
    const int k = threadIdx.x % tile.channels;
    const bool exists = tile.packed || k < block.channels;
    const Source* const from = static_cast<const Source*>(source) + (tile.packed ? k : k * block.weight.out_channel) +
                               (consecutive ? weight_place(block, c, 0) + first * pair_step : 0);
    __syncthreads();  // the previous chunk has been used
    for (int start = threadIdx.x / tile.channels; start < count; start += batch * step) {
      Number values[batch];
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        const int pair = start + i * step;
        values[i] = 0;
        if (exists && pair < count) {
          const long long place =
              consecutive ? pair * pair_step : weight_place(block, c + (first + pair) / taps, (first + pair) % taps);
          const Source value = load<1>(from + place).at[0];
          if constexpr (tile.packed)
            values[i] = value;
          else
            values[i] = operand(value);
        }
      }
#pragma unroll
      for (int i = 0; i < batch; ++i) {
        if (start + i * step < count) weights[(start + i * step) * tile.channels + k] = values[i];
      }
    }
    __syncthreads();
  }

  static Number operand(Weight weight) { return round_to<Config::rounding>(Number(to_number(weight))); }

  static void run(const shared::Arguments& arguments) {
    __shared__ __align__(16) Number weights[tile.pairs * tile.channels];
    const Geometry geometry{arguments.sizes};
    const shared::Tensors& tensors = arguments.tensors;

    // Blocks that read the same inputs are neighbours in the grid, so that they meet in the L2, and so are the residue
    // classes, whose outputs interleave.
    const long long index = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    const long long channel_block = index % channel_blocks,
                    class_of_all = index / channel_blocks % Geometry::all_classes;
    Block block;
    block.axis[2] = geometry.template tap_class<2>(class_of_all % Geometry::template classes<2>);
    block.axis[1] =
        geometry.template tap_class<1>(class_of_all / Geometry::template classes<2> % Geometry::template classes<1>);
    block.axis[0] =
        geometry.template tap_class<0>(class_of_all / Geometry::template classes<2> / Geometry::template classes<1>);
    block.input[0] = Index(geometry.template axis<0>().input);
    block.input[1] = Index(geometry.template axis<1>().input);
    block.input[2] = Index(geometry.template axis<2>().input);
    block.strides = geometry.input_strides();
    block.weight = geometry.weight_strides();
    block.positions = Index(geometry.batch() * block.axis[0].grid * block.axis[1].grid * block.axis[2].grid);
    block.group = index / channel_blocks / Geometry::all_classes % shape.groups;
    block.first_channel = channel_block * tile.channels;
    const long long rest = shape.out_channels - block.first_channel;
    block.channels = int(rest < tile.channels ? rest : tile.channels);
    const long long first =
        index / channel_blocks / Geometry::all_classes / shape.groups * (tile.threads * tile.pixels);
    if (first >= block.positions) return;

    const Input* const input = static_cast<const Input*>(tensors.input);
    Pixel pixels[tile.pixels];
    Sums sums;
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      // A position past the end reads, but never writes.
      const long long position = first + threadIdx.x + p * tile.threads;
      pixels[p] = pixel_at(block, locate(block, Index(position < block.positions ? position : 0)), input);
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) sums[k][p] = 0;
    }

    const Index class_taps = taps_of<0>(block) * taps_of<1>(block) * taps_of<2>(block);
    if (class_taps * tile.vector <= tile.pairs) {
      // Whole channels a chunk.
      const int step = int(tile.pairs / class_taps) / tile.vector * tile.vector;
      for (long long c = 0; c < shape.in_channels; c += step) {
        const int count = int(shape.in_channels - c < step ? shape.in_channels - c : step);
        stage(weights, block, tensors.weight, c, 0, count * int(class_taps), class_taps);
#pragma unroll(channel_unroll)
        for (int i = 0; i < count; i += tile.vector)
          add_channels(sums, block, pixels, c + i, weights + i * int(class_taps) * tile.channels, int(class_taps));
      }
    } else {
      add_large_filter(sums, block, pixels, tensors.weight, weights, class_taps);
    }
    store(sums, geometry, block, first, weights + threadIdx.x, tensors);
  }
  // Channels whose loads are in flight together, where one channel has few.
  static constexpr int channel_loads = unrolled ? int(taps<0> * taps<1> * taps<2>) * tile.pixels : 32;
  static constexpr int channel_unroll = channel_loads >= 32 ? 1 : 32 / channel_loads < 8 ? 32 / channel_loads : 8;

  // A filter too large for shared memory: a part of the taps of `vector` channels at a time.
  static void add_large_filter(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], const void* source,
                               Number* weights, Index taps) {
    const Index t1s = taps_of<1>(block), t2s = taps_of<2>(block);
    constexpr int step = tile.pairs / tile.vector;
    for (long long c = 0; c < shape.in_channels; c += tile.vector) {
      for (Index t = 0; t < taps; t += step) {
        const int count = int(taps - t < step ? taps - t : step);
        for (int v = 0; v < tile.vector; ++v)
          stage(weights + v * step * tile.channels, block, source, c + v, t, count, taps);
        for (int i = 0; i < count; ++i) {
          const Index rows_before = (t + i) / t2s;
          Row rows[tile.pixels];
#pragma unroll
          for (int p = 0; p < tile.pixels; ++p)
            rows[p] = row_of(block, pixels[p], c * block.strides.inner, rows_before / t1s, rows_before % t1s);
          add_row_tap(sums, block, pixels, rows, (t + i) % t2s, weights + i * tile.channels, step);
        }
      }
    }
  }

  // An activation of many instructions is not unrolled over the channels: the sums then pass through shared memory,
  // each thread's through a column of its own.
  static constexpr bool rolled = Config::activation != Activation::none && Config::activation != Activation::relu &&
                                 Config::activation != Activation::leaky_relu;

  static void store(const Sums& sums, const Geometry& geometry, const Block& block, long long first, Number* column,
                    const shared::Tensors& tensors) {
    // The places are found again: kept since the start, they would take registers from the loop.
    ptx::forget(first);
    const shared::Strides output = geometry.output_strides(), residual = geometry.residual_strides();
    const long long channel = block.group * shape.out_channels + block.first_channel;
    if constexpr (rolled) __syncthreads();  // the last weights have been used
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      const long long position = first + threadIdx.x + p * tile.threads;
      if (position >= block.positions) return;
      const Place place = locate(block, Index(position));
      long long to = place.image * output.outer + channel * output.inner;
      long long from = place.image * residual.outer + channel * residual.inner;
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const long long at = block.axis[i].origin + block.axis[i].step * place.q[i];
        to += at * output.axis[i];
        from += at * residual.axis[i];
      }
      const auto store_vector = [&](int k, auto sum_of) {
        Vector<Output, tile.vector_stored> values;
#pragma unroll
        for (int v = 0; v < tile.vector_stored; ++v)
          values.at[v] = Epilogue::finish(sum_of(k + v), channel + k + v, from + (k + v) * residual.inner, tensors);
        Output* const target = static_cast<Output*>(tensors.output) + to + k * output.inner;
        *reinterpret_cast<Vector<Output, tile.vector_stored>*>(target) = values;
      };
      if constexpr (rolled) {
#pragma unroll
        for (int k = 0; k < tile.channels; ++k) column[k * tile.threads] = sums[k][p];
#pragma unroll 1
        for (int k = 0; k < block.channels; k += tile.vector_stored)
          store_vector(k, [&](int at) { return column[at * tile.threads]; });
      } else {
#pragma unroll
        for (int k = 0; k < tile.channels; k += tile.vector_stored) {
          if (k < block.channels) store_vector(k, [&](int at) { return sums[at][p]; });
        }
      }
    }
  }

  // Packs the weights for `tile.packed`: rounded, as [group][channel block][channel][tap of the filter][output
  // channel]. `output` is where to.
  static void pack(const shared::Arguments& arguments) {
    const Geometry geometry{arguments.sizes};
    const shared::WeightStrides from = geometry.weight_strides();
    constexpr long long count = shape.groups * channel_blocks * shape.in_channels * kernel_size * tile.channels;
    const long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
      long long rest = i / tile.channels;
      const long long tap = rest % kernel_size;
      rest /= kernel_size;
      const long long c = rest % shape.in_channels;
      rest /= shape.in_channels;
      const long long k = rest % channel_blocks * tile.channels + i % tile.channels, group = rest / channel_blocks;
      const long long t2 = tap % shape.axis[2].kernel, t1 = tap / shape.axis[2].kernel % shape.axis[1].kernel,
                      t0 = tap / shape.axis[2].kernel / shape.axis[1].kernel;
      const long long place = group * from.group + k * from.out_channel + c * from.in_channel + t0 * from.axis[0] +
                              t1 * from.axis[1] + t2 * from.axis[2];
      static_cast<Number*>(arguments.tensors.output)[i] =
          k < shape.out_channels ? operand(static_cast<const Weight*>(arguments.tensors.weight)[place]) : Number(0);
    }
  }
};

}  // namespace tapconv
