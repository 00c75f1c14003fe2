// The `direct` solver: any tap convolution by a loop of binary32 fused multiply-adds, without a workspace.
//
// Mapping. M = output channels of one group, N = grid positions of all images, flattened; the reduction runs over
// channels, then taps. A block owns `channels` (M) x `threads * pixels` (N) outputs; a thread owns all of its block's
// channels at `pixels` positions that lie `threads` apart, so that a warp reads 32 neighbouring inputs and writes 32
// neighbouring outputs.
//
// Data flow. Weights of a chunk of the reduction: global -> rounded -> shared, transposed to [pair][channel], so that a
// thread reads four channels with one broadcast load. Inputs: global (L1) -> rounded -> registers -> FMA.
//
// Shared memory: pairs x channels floats, the only array. Registers: channels x pixels accumulators (at most 64), and a
// pointer and three coordinates a pixel.
//
// Offsets are 64-bit; coordinates within one image are 32-bit where the image allows it. Positions outside the input
// read as +0 and are multiplied.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv {

// How a direct kernel cuts its problem up.
struct DirectTile {
  int threads;   // a block
  int pixels;    // grid positions a thread
  int channels;  // output channels a block
  int pairs;     // (channel, tap) pairs of weights held in shared memory
};

template <bool narrow>
struct IntegerOf {
  using type = int;
};
template <>
struct IntegerOf<false> {
  using type = long long;
};

template <class Config>
struct Direct {
  static constexpr shared::Shape shape = Config::shape;
  static constexpr DirectTile tile = Config::tile;
  static constexpr shared::Rounding rounding = Config::rounding;

  static constexpr long long taps = shape.taps();
  static constexpr long long positions = shape.batch * shape.grid();
  static constexpr long long channel_blocks = (shape.out_channels + tile.channels - 1) / tile.channels;

  static constexpr long long position_blocks =
      (positions + (long long)tile.threads * tile.pixels - 1) / ((long long)tile.threads * tile.pixels);
  static constexpr long long blocks = position_blocks * shape.groups * channel_blocks;

  // Wide enough for a coordinate of one axis, inside or outside the input.
  static constexpr bool narrow_axis(const shared::Axis& axis) {
    constexpr long long limit = 1ll << 30;
    const long long reach = axis.first_offset + axis.offset_step * (axis.taps - 1);
    return axis.input < limit && axis.in_step * (axis.grid - 1) < limit && axis.first_offset > -limit &&
           reach < limit && reach > -limit;
  }
  static constexpr bool narrow =
      narrow_axis(shape.axis[0]) && narrow_axis(shape.axis[1]) && narrow_axis(shape.axis[2]) && taps < (1ll << 30);
  using Coordinate = typename IntegerOf<narrow>::type;

  static_assert(tile.threads % 32 == 0 && tile.threads <= 1024);
  static_assert(tile.channels >= 1 && tile.pixels >= 1 && tile.channels * tile.pixels <= 64,
                "accumulators would spill");
  static_assert(tile.pairs * tile.channels * 4 <= 48 * 1024, "static shared memory");

  using Sums = float[tile.channels][tile.pixels];

  // Where a thread's grid position reads and writes, for one group.
  struct Pixel {
    Coordinate position[3];  // input coordinates of a tap with offset 0
    const float* corner;     // the group's first channel there; not dereferenced where outside
  };

  struct Grid {
    long long image;
    Coordinate q[3];
  };

  static Grid locate(long long position) {
    Grid grid;
    grid.image = position / shape.grid();
    const long long rest = position % shape.grid();
    grid.q[2] = Coordinate(rest % shape.axis[2].grid);
    const long long rows = rest / shape.axis[2].grid;
    grid.q[1] = Coordinate(rows % shape.axis[1].grid);
    grid.q[0] = Coordinate(rows / shape.axis[1].grid);
    return grid;
  }

  static Pixel input_pixel(long long position, long long group, const float* input) {
    const Grid grid = locate(position < positions ? position : 0);  // a position past the end reads, but never writes
    Pixel pixel;
    pixel.position[0] = Coordinate(shape.axis[0].in_step) * grid.q[0];
    pixel.position[1] = Coordinate(shape.axis[1].in_step) * grid.q[1];
    pixel.position[2] = Coordinate(shape.axis[2].in_step) * grid.q[2];
    pixel.corner = input + (grid.image * shape.groups + group) * shape.in_channels * shape.input() +
                   offset_of(pixel.position[0], pixel.position[1], pixel.position[2]);
    return pixel;
  }

  static float* output_pixel(long long position, long long channel, float* output) {
    const Grid grid = locate(position);
    const long long d = shape.axis[0].origin + shape.axis[0].step * grid.q[0];
    const long long h = shape.axis[1].origin + shape.axis[1].step * grid.q[1];
    const long long w = shape.axis[2].origin + shape.axis[2].step * grid.q[2];
    return output + (grid.image * shape.groups * shape.out_channels + channel) * shape.output() +
           (d * shape.axis[1].output + h) * shape.axis[2].output + w;
  }

  static constexpr long long offset_of(long long d, long long h, long long w) {
    return (d * shape.axis[1].input + h) * shape.axis[2].input + w;
  }

  template <int axis>
  static constexpr Coordinate tap_offset(Coordinate tap) {
    return Coordinate(shape.axis[axis].first_offset) + Coordinate(shape.axis[axis].offset_step) * tap;
  }

  // Whether a tap reads inside the input along an axis; decided at compile time where none ever leaves it.
  template <int axis>
  static bool inside(const Pixel& pixel, Coordinate offset) {
    if constexpr (shape.axis[axis].inside) return true;
    const Coordinate at = pixel.position[axis] + offset;
    return at >= 0 && at < Coordinate(shape.axis[axis].input);
  }

  // Index in one channel's filter of a tap of this tap convolution.
  static long long filter_index(Coordinate tap) {
    const Coordinate t2 = tap % Coordinate(shape.axis[2].taps), rows = tap / Coordinate(shape.axis[2].taps);
    const Coordinate t1 = rows % Coordinate(shape.axis[1].taps), t0 = rows / Coordinate(shape.axis[1].taps);
    const long long d = shape.axis[0].first_tap + shape.axis[0].tap_step * t0;
    const long long h = shape.axis[1].first_tap + shape.axis[1].tap_step * t1;
    const long long w = shape.axis[2].first_tap + shape.axis[2].tap_step * t2;
    return (d * shape.axis[1].kernel + h) * shape.axis[2].kernel + w;
  }

  static void run(const shared::Tensors& tensors) {
    __shared__ __align__(16) float weights[tile.pairs * tile.channels];

    // Blocks that read the same inputs are neighbours in the grid, so that they meet in the L2.
    // One row of blocks, as nearly always, leaves 32-bit numbers to divide.
    constexpr bool one_row = blocks <= 0x7fffffff;
    const long long block = one_row ? blockIdx.x : (long long)blockIdx.y * gridDim.x + blockIdx.x;
    if (!one_row && block >= blocks) return;
    const long long first_channel = block % channel_blocks * tile.channels;
    const long long group = block / channel_blocks % shape.groups;
    const long long first_position = block / channel_blocks / shape.groups * (tile.threads * tile.pixels) + threadIdx.x;

    Pixel pixels[tile.pixels];
    Sums sums;
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      pixels[p] = input_pixel(first_position + p * tile.threads, group, tensors.input);
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) sums[k][p] = 0.0f;
    }

    const long long channel = group * shape.out_channels + first_channel;
    const int channels =
        int(shape.out_channels - first_channel < tile.channels ? shape.out_channels - first_channel : tile.channels);
    const float* filter = tensors.weight + channel * shape.in_channels * shape.kernel();
    if constexpr (taps <= tile.pairs) {
      constexpr int step = int(tile.pairs / taps);  // whole channels a chunk
      for (long long c = 0; c < shape.in_channels; c += step) {
        const int count = int(shape.in_channels - c < step ? shape.in_channels - c : step);
        stage(weights, filter + c * shape.kernel(), 0, count * int(taps), channels);
        for (int i = 0; i < count; ++i)
          add_channel(sums, pixels, (c + i) * shape.input(), weights + i * int(taps) * tile.channels);
      }
    } else {
      // A filter too large for shared memory: a part of one channel's taps at a time.
      for (long long c = 0; c < shape.in_channels; ++c) {
        for (Coordinate t = 0; t < taps; t += tile.pairs) {
          const int count = int(taps - t < tile.pairs ? taps - t : tile.pairs);
          stage(weights, filter + c * shape.kernel(), t, count, channels);
          for (int i = 0; i < count; ++i) {
            const Coordinate t2 = (t + i) % Coordinate(shape.axis[2].taps),
                             rows = (t + i) / Coordinate(shape.axis[2].taps);
            add_tap(sums, pixels, c * shape.input(), tap_offset<0>(rows / Coordinate(shape.axis[1].taps)),
                    tap_offset<1>(rows % Coordinate(shape.axis[1].taps)), tap_offset<2>(t2),
                    weights + i * tile.channels);
          }
        }
      }
    }
    store(sums, first_position, channel, channels, tensors);
  }

  // Fills weights[i][k] with (channel, tap) pair first + i, counted from the block's first filter at `source`, of the
  // block's k-th output channel. Channels beyond `channels` are zero.
  static void stage(float* weights, const float* source, Coordinate first, int count, int channels) {
    __syncthreads();  // the previous chunk has been used
    for (int e = threadIdx.x; e < count * tile.channels; e += tile.threads) {
      const int k = e % tile.channels;
      const Coordinate pair = first + e / tile.channels;
      const long long index = k * shape.in_channels * shape.kernel() + pair / Coordinate(taps) * shape.kernel() +
                              filter_index(pair % Coordinate(taps));
      weights[e] = k < channels ? shared::round_operand(source[index], rounding) : 0.0f;
    }
    __syncthreads();
  }

  static void add_channel(Sums& sums, const Pixel (&pixels)[tile.pixels], long long channel_offset,
                          const float* weights) {
    for (int t0 = 0; t0 < shape.axis[0].taps; ++t0) {
      for (int t1 = 0; t1 < shape.axis[1].taps; ++t1) {
#pragma unroll(8)
        for (int t2 = 0; t2 < shape.axis[2].taps; ++t2, weights += tile.channels)
          add_tap(sums, pixels, channel_offset, tap_offset<0>(t0), tap_offset<1>(t1), tap_offset<2>(t2), weights);
      }
    }
  }

  static void add_tap(Sums& sums, const Pixel (&pixels)[tile.pixels], long long channel_offset, Coordinate o0,
                      Coordinate o1, Coordinate o2, const float* weights) {
    float x[tile.pixels];
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      const bool ok = inside<0>(pixels[p], o0) && inside<1>(pixels[p], o1) && inside<2>(pixels[p], o2);
      const float* element = pixels[p].corner + (channel_offset + offset_of(o0, o1, o2));
      x[p] = ok ? shared::round_operand(__ldg(element), rounding) : 0.0f;
    }
    float w[tile.channels];
    if constexpr (tile.channels % 4 == 0) {
#pragma unroll
      for (int k = 0; k < tile.channels; k += 4) {
        const float4 four = *reinterpret_cast<const float4*>(weights + k);
        w[k] = four.x, w[k + 1] = four.y, w[k + 2] = four.z, w[k + 3] = four.w;
      }
    } else {
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) w[k] = weights[k];
    }
#pragma unroll
    for (int k = 0; k < tile.channels; ++k) {
#pragma unroll
      for (int p = 0; p < tile.pixels; ++p) sums[k][p] = __fmaf_rn(x[p], w[k], sums[k][p]);
    }
  }

  static void store(const Sums& sums, long long first_position, long long channel, int channels,
                    const shared::Tensors& tensors) {
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      const long long position = first_position + p * tile.threads;
      if (position >= positions) return;
      float* output = output_pixel(position, channel, tensors.output);
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) {
        if (k < channels)
          output[k * shape.output()] =
              shape.bias ? __fadd_rn(sums[k][p], __ldg(tensors.bias + channel + k)) : sums[k][p];
      }
    }
  }
};

}  // namespace tapconv
