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
// Shared memory: pairs x channels numbers, the only array. Registers: channels x pixels accumulators, and a pointer and
// three coordinates a pixel.
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
  static constexpr long long channel_blocks = (shape.out_channels + tile.channels - 1) / tile.channels;

  static_assert(tile.threads % 32 == 0 && tile.threads <= 1024);
  static_assert(tile.channels >= 1 && tile.pixels >= 1 &&
                    tile.channels * tile.pixels * sizeof(Number) <= 64 * sizeof(float),
                "accumulators would spill");
  static_assert(tile.pairs * tile.channels * sizeof(Number) <= 48 * 1024, "static shared memory");
  static_assert(shape.in_channels % tile.vector == 0 && shape.out_channels % tile.vector_stored == 0 &&
                    tile.channels % tile.vector_stored == 0,
                "no vector crosses the end of a group");

  // Weights read from shared memory at once: 16 bytes, if the rows are made of them.
  static constexpr int broadcast = tile.channels % int(16 / sizeof(Number)) == 0 ? int(16 / sizeof(Number)) : 1;

  using Sums = Number[tile.channels][tile.pixels];

  // A grid position of one class, and the input coordinates of a tap with offset 0 there.
  struct Pixel {
    Index image, q[3];
    Index position[3];
    const Input* corner;  // zeros: the group's first channel at `position`, not dereferenced where outside; else the
                          // image's first element of the group
  };

  // One row of taps seen from a pixel.
  struct Row {
    const Input* start;  // at the third coordinate of the pixel (zeros), else at 0
    bool inside;
  };

  // shared::TapClass in few registers: a transposed problem's is not known before the block is.
  struct Class {
    Index grid, in_step, taps, first_offset, offset_step, first_tap, tap_step, origin, step;

    static Class of(const shared::TapClass& wide) {
      return {Index(wide.grid),         Index(wide.in_step),     Index(wide.taps),
              Index(wide.first_offset), Index(wide.offset_step), Index(wide.first_tap),
              Index(wide.tap_step),     Index(wide.origin),      Index(wide.step)};
    }
  };

  // What a block computes, and where its tensors lie.
  struct Block {
    Class axis[3];
    Index input[3];
    shared::Strides strides;       // of the input
    shared::WeightStrides weight;  // of the weights, as PyTorch has them
    Index positions;
    long long group, first_channel;  // of the group
    int channels;                    // that exist
  };

  static Pixel locate(const Block& block, Index position, const Input* input) {
    Pixel pixel;
    const Index g1 = block.axis[1].grid, g2 = block.axis[2].grid;
    const Index plane = block.axis[0].grid * g1 * g2;
    pixel.image = position / plane;
    const Index rest = position % plane, rows = rest / g2;
    pixel.q[2] = rest % g2;
    pixel.q[1] = rows % g1;
    pixel.q[0] = rows / g1;
    pixel.corner = input + pixel.image * block.strides.outer + block.group * shape.in_channels * block.strides.inner;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
      pixel.position[i] = block.axis[i].in_step * pixel.q[i];
      if constexpr (zeros) pixel.corner += pixel.position[i] * block.strides.axis[i];
    }
    return pixel;
  }

  template <int i>
  static Index tap_offset(const Block& block, Index tap) {
    return block.axis[i].first_offset + block.axis[i].offset_step * tap;
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

  // Adds the products of tap t2 of a row, of `vector` channels. `weights` is the first channel's; the next channel's
  // lie `channel_pairs` pairs further.
  static void add_tap(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels],
                      const Row (&rows)[tile.pixels], Index t2, const Number* weights, int channel_pairs) {
    const Index offset = tap_offset<2>(block, t2);
    Number x[tile.vector][tile.pixels];
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      const Source at = source<2>(block, pixels[p].position[2] + offset);
      const bool ok = rows[p].inside && at.exists;
      const Input* element = rows[p].start + (zeros ? offset : at.at) * block.strides.axis[2];
      Vector<Input, tile.vector> elements{};
      if (ok) elements = load(element);
#pragma unroll
      for (int v = 0; v < tile.vector; ++v)
        x[v][p] = ok ? round_to<Config::rounding>(Number(to_number(elements.at[v]))) : Number(0);
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

  static Vector<Input, tile.vector> load(const Input* element) {
    using Bits = Vector<Input, tile.vector>;
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

  // All taps of channels [c, c + vector), whose weights are staged one after the other.
  static void add_channels(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                           const Number* weights, int taps) {
    for (Index t0 = 0; t0 < block.axis[0].taps; ++t0) {
      for (Index t1 = 0; t1 < block.axis[1].taps; ++t1) {
        Row rows[tile.pixels];
#pragma unroll
        for (int p = 0; p < tile.pixels; ++p) rows[p] = row_of(block, pixels[p], c * block.strides.inner, t0, t1);
#pragma unroll(row_unroll)
        for (Index t2 = 0; t2 < block.axis[2].taps; ++t2, weights += tile.channels)
          add_tap(sums, block, pixels, rows, t2, weights, taps);
      }
    }
  }

  // Taps of a row together: up to 8 loads in flight, and no more taps than the longest row of a class has, so that
  // not all of them are left over.
  static constexpr long long row_taps = (shape.axis[2].kernel + shape.axis[2].tap_step - 1) / shape.axis[2].tap_step;
  static constexpr int row_unroll = int(row_taps < 8 / tile.vector ? row_taps : 8 / tile.vector);

  // Index of a tap of the class in the whole filter, axis by axis.
  template <int i>
  static Index filter_tap(const Block& block, Index tap) {
    return block.axis[i].first_tap + block.axis[i].tap_step * tap;
  }

  // Place of the block's first weight of channel c and tap `tap` of the class; its output channels lie `step` apart.
  static long long weight_place(const Block& block, long long c, Index tap) {
    const Index t2 = tap % block.axis[2].taps, rows = tap / block.axis[2].taps;
    const Index t1 = rows % block.axis[1].taps, t0 = rows / block.axis[1].taps;
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

  // Fills weights[i][k] with pair i of the block's k-th output channel: taps [first, first + count) of channel c, and
  // of the channels after it where count exceeds the class's taps. Output channels that do not exist are zero.
  static void stage(Number* weights, const Block& block, const void* source, long long c, Index first, int count,
                    Index taps) {
    __syncthreads();  // the previous chunk has been used
    for (int e = threadIdx.x; e < count * tile.channels; e += tile.threads) {
      const int k = e % tile.channels;
      const Index pair = first + e / tile.channels;
      const long long place = weight_place(block, c + pair / taps, pair % taps);
      if constexpr (tile.packed) {
        weights[e] = static_cast<const Number*>(source)[place + k];
      } else {
        weights[e] = k < block.channels
                         ? operand(static_cast<const Weight*>(source)[place + k * block.weight.out_channel])
                         : Number(0);
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
    constexpr long long classes1 = Geometry::template classes<1>, classes2 = Geometry::template classes<2>;
    block.axis[2] = Class::of(geometry.template tap_class<2>(class_of_all % classes2));
    block.axis[1] = Class::of(geometry.template tap_class<1>(class_of_all / classes2 % classes1));
    block.axis[0] = Class::of(geometry.template tap_class<0>(class_of_all / classes2 / classes1));
    block.input[0] = Index(geometry.template axis<0>().input);
    block.input[1] = Index(geometry.template axis<1>().input);
    block.input[2] = Index(geometry.template axis<2>().input);
    block.strides = geometry.input_strides();
    block.weight = geometry.weight_strides();
    block.positions = Index(geometry.batch()) * block.axis[0].grid * block.axis[1].grid * block.axis[2].grid;
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
      pixels[p] = locate(block, Index(position < block.positions ? position : 0), input);
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) sums[k][p] = 0;
    }

    const Index taps = block.axis[0].taps * block.axis[1].taps * block.axis[2].taps;
    if (taps * tile.vector <= tile.pairs) {
      // Whole channels a chunk. With a tap or two a channel, several channels are unrolled to keep loads in flight.
      const int step = int(tile.pairs / taps) / tile.vector * tile.vector;
      for (long long c = 0; c < shape.in_channels; c += step) {
        const int count = int(shape.in_channels - c < step ? shape.in_channels - c : step);
        stage(weights, block, tensors.weight, c, 0, count * int(taps), taps);
#pragma unroll(channel_unroll)
        for (int i = 0; i < count; i += tile.vector)
          add_channels(sums, block, pixels, c + i, weights + i * int(taps) * tile.channels, int(taps));
      }
    } else {
      add_large_filter(sums, block, pixels, tensors.weight, weights, taps);
    }
    store(sums, geometry, block, pixels, first, tensors);
  }
  static constexpr int channel_unroll = kernel_size <= 2 ? 8 / int(kernel_size) / tile.vector : 1;

  // A filter too large for shared memory: a part of the taps of `vector` channels at a time.
  static void add_large_filter(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], const void* source,
                               Number* weights, Index taps) {
    const Index t1s = block.axis[1].taps, t2s = block.axis[2].taps;
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
          add_tap(sums, block, pixels, rows, (t + i) % t2s, weights + i * tile.channels, step);
        }
      }
    }
  }

  static void store(const Sums& sums, const Geometry& geometry, const Block& block, const Pixel (&pixels)[tile.pixels],
                    long long first, const shared::Tensors& tensors) {
    const shared::Strides output = geometry.output_strides(), residual = geometry.residual_strides();
    const long long channel = block.group * shape.out_channels + block.first_channel;
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      if (first + threadIdx.x + p * tile.threads >= block.positions) return;
      long long to = pixels[p].image * output.outer + channel * output.inner;
      long long from = pixels[p].image * residual.outer + channel * residual.inner;
#pragma unroll
      for (int i = 0; i < 3; ++i) {
        const long long at = block.axis[i].origin + block.axis[i].step * pixels[p].q[i];
        to += at * output.axis[i];
        from += at * residual.axis[i];
      }
      Output* const target = static_cast<Output*>(tensors.output) + to;
#pragma unroll
      for (int k = 0; k < tile.channels; k += tile.vector_stored) {
        if (k >= block.channels) break;
        Vector<Output, tile.vector_stored> values;
#pragma unroll
        for (int v = 0; v < tile.vector_stored; ++v)
          values.at[v] = Epilogue::finish(sums[k + v][p], channel + k + v, from + (k + v) * residual.inner, tensors);
        *reinterpret_cast<Vector<Output, tile.vector_stored>*>(target + k * output.inner) = values;
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
