// The weights of a direct kernel: on their way to shared memory, and packed beforehand.
#pragma once

#include "tapconv/direct_block.cuh"

namespace tapconv {

template <class Config>
struct DirectWeights : DirectBlock<Config> {
  using Base = DirectBlock<Config>;
  using Base::shape, Base::tile, Base::channel_blocks;
  using typename Base::Number, typename Base::Index, typename Base::Block, typename Base::Geometry;
  using typename Base::Weight;

  // Index of a tap of the class in the whole filter, axis by axis.
  template <int i>
  static Index filter_tap(const Block& block, Index tap) {
    return Index(block.axis[i].first_tap) + Index(block.axis[i].tap_step) * tap;
  }

  // Place of the block's first weight of channel c and tap `tap` of the class; its output channels lie `step` apart.
  static long long weight_place(const Block& block, long long c, Index tap) {
    const Index t2 = tap % Base::template taps_of<2>(block), rows = tap / Base::template taps_of<2>(block);
    const Index t1 = rows % Base::template taps_of<1>(block), t0 = rows / Base::template taps_of<1>(block);
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

  // Whether the pairs of an output channel follow each other in memory, `pair_step` apart.
  static constexpr long long pair_step = tile.packed ? tile.channels : shape.weight.axis[2];
  static constexpr bool follows(int i, long long step) {
    return shape.axis[i].kernel == 1 || shape.weight.axis[i] == step;
  }
  static constexpr bool consecutive =
      !shape.transposed &&
      (tile.packed || (pair_step > 0 && follows(1, pair_step* shape.axis[2].kernel) &&
                       follows(0, pair_step* shape.axis[2].kernel* shape.axis[1].kernel) &&
                       (shape.in_channels == 1 || shape.weight.in_channel == pair_step * kernel_size)));

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
