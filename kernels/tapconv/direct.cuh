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

#include "tapconv/direct_weights.cuh"

namespace tapconv {

template <class Config>
struct Direct : DirectWeights<Config> {
  using Base = DirectWeights<Config>;
  using Base::shape, Base::tile, Base::this_block, Base::locate, Base::stage;
  using typename Base::Block, typename Base::Place, typename Base::Geometry, typename Base::Epilogue;
  using typename Base::Number, typename Base::Index, typename Base::Unsigned, typename Base::Input,
      typename Base::Output;

  template <int i>
  static constexpr long long taps = Base::template taps<i>;
  template <int i>
  static constexpr Index taps_of(const Block& block) {
    return Base::template taps_of<i>(block);
  }

  static constexpr bool zeros = shape.boundary == shared::Boundary::zeros;
  static constexpr bool all_inside = shape.axis[0].inside && shape.axis[1].inside && shape.axis[2].inside;

  static constexpr bool unrolled = shared::direct_unrolls(shape);
  static constexpr int plane_taps = unrolled ? int(taps<1> * taps<2>) : 1;

  // Weights read from shared memory at once: 16 bytes, if the rows are made of them.
  static constexpr int broadcast = tile.channels % int(16 / sizeof(Number)) == 0 ? int(16 / sizeof(Number)) : 1;

  using Sums = Number[tile.channels][tile.pixels];

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

  // All taps of channels [c, c + vector), whose weights are staged one after the other, `class_taps` pairs each.
  static void add_channels(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                           const Number* weights, int class_taps) {
    if constexpr (unrolled)
      add_unrolled(sums, block, pixels, c, weights);
    else
      add_rows(sums, block, pixels, c, weights, class_taps);
  }

  // Taps of a row together: up to 8 loads in flight, and no more taps than the longest row of a class has, so that not
  // all of them are left over.
  static constexpr long long row_taps = (shape.axis[2].kernel + shape.axis[2].tap_step - 1) / shape.axis[2].tap_step;
  static constexpr int row_unroll = int(row_taps < 8 / tile.vector ? row_taps : 8 / tile.vector);

  static void add_rows(Sums& sums, const Block& block, const Pixel (&pixels)[tile.pixels], long long c,
                       const Number* weights, int class_taps) {
    for (Index t0 = 0; t0 < taps_of<0>(block); ++t0) {
      for (Index t1 = 0; t1 < taps_of<1>(block); ++t1) {
        Row rows[tile.pixels];
#pragma unroll
        for (int p = 0; p < tile.pixels; ++p) rows[p] = row_of(block, pixels[p], c * block.strides.inner, t0, t1);
#pragma unroll(row_unroll)
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

  static void run(const shared::Arguments& arguments) {
    __shared__ __align__(16) Number weights[tile.pairs * tile.channels];
    const Geometry geometry{arguments.sizes};
    const shared::Tensors& tensors = arguments.tensors;
    const Block block = this_block(geometry);
    if (block.first >= block.positions) return;

    const Input* const input = static_cast<const Input*>(tensors.input);
    Pixel pixels[tile.pixels];
    Sums sums;
#pragma unroll
    for (int p = 0; p < tile.pixels; ++p) {
      // A position past the end reads, but never writes.
      const long long position = block.first + threadIdx.x + p * tile.threads;
      pixels[p] = pixel_at(block, locate(block, Index(position < block.positions ? position : 0)), input);
#pragma unroll
      for (int k = 0; k < tile.channels; ++k) sums[k][p] = 0;
    }

    const Index class_taps = taps_of<0>(block) * taps_of<1>(block) * taps_of<2>(block);
    if ((long long)class_taps * tile.vector <= tile.pairs) {
      // Whole channels a chunk.
      constexpr int together = channel_unroll * tile.vector;
      const int step = int(tile.pairs / class_taps) / together * together;
      for (long long c = 0; c < shape.in_channels; c += step) {
        const int count = int(shape.in_channels - c < step ? shape.in_channels - c : step);
        stage(weights, block, tensors.weight, c, 0, count * int(class_taps), class_taps);
#pragma unroll 1
        for (int i = 0; i < count; i += together) {
#pragma unroll
          for (int j = 0; j < together; j += tile.vector)
            add_channels(sums, block, pixels, c + i + j, weights + (i + j) * int(class_taps) * tile.channels,
                         int(class_taps));
        }
      }
    } else {
      add_large_filter(sums, block, pixels, tensors.weight, weights, class_taps);
    }
    store(sums, geometry, block, weights + threadIdx.x, tensors);
  }
  // How many vectors of channels have their loads in flight together, where one has few: a divisor of their number, so
  // that nothing is left over. (Unrolled by a pragma, NVRTC 13.0 forgets what is left over of a loop whose number of
  // passes it learns late.)
  static constexpr int unroll_channels(int most) {
    constexpr long long loads = unrolled ? taps<0> * taps<1> * taps<2> * tile.pixels : 32;
    while (most > 1 && (most * loads > 32 || shape.in_channels / tile.vector % most != 0)) most /= 2;
    return most;
  }
  static constexpr int channel_unroll = unroll_channels(8);
  static_assert(!unrolled || channel_unroll * tile.vector * taps<0> * taps<1> * taps<2> <= tile.pairs ||
                channel_unroll == 1);

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

  static void store(const Sums& sums, const Geometry& geometry, const Block& block, Number* column,
                    const shared::Tensors& tensors) {
    // The places are found again: kept since the start, they would take registers from the loop.
    long long first = block.first;
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
          values.at[v] = Epilogue::finish(sum_of(k + v), Epilogue::bias(channel + k + v, tensors),
                                          from + (k + v) * residual.inner, tensors);
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
};

}  // namespace tapconv
