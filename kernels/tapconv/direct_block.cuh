// What a block of a direct kernel computes.
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
struct DirectBlock {
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

  // Taps along an axis, if every class has the same number; else 0, and taps_of() tells those of the block's class.
  template <int i>
  static constexpr long long taps = shared::uniform_taps(shape.axis[i], shape.transposed);

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

  // A grid position of one class.
  struct Place {
    Index image, q[3];
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

  // What this block computes, and where its tensors lie.
  struct Block {
    Class axis[3];
    Index input[3];
    shared::Strides strides;         // of the input
    shared::WeightStrides weight;    // of the weights, as PyTorch has them
    Index positions;                 // of the class, in all images
    long long first;                 // position of the block's first thread; may lie beyond the last
    long long group, first_channel;  // of the group
    int channels;                    // that exist
  };

  template <int i>
  static constexpr Index taps_of(const Block& block) {
    return taps<i> > 0 ? Index(taps<i>) : block.axis[i].taps;
  }

  // Blocks that read the same inputs are neighbours in the grid, so that they meet in the L2, and so are the residue
  // classes, whose outputs interleave.
  static Block this_block(const Geometry& geometry) {
    constexpr long long classes0 = Geometry::template classes<0>, classes1 = Geometry::template classes<1>,
                        classes2 = Geometry::template classes<2>;
    long long rest = (long long)blockIdx.y * gridDim.x + blockIdx.x;
    const auto next = [&](long long size) {
      const long long index = rest % size;
      rest /= size;
      return index;
    };
    Block block;
    block.first_channel = next(channel_blocks) * tile.channels;
    block.axis[2] = Class::of(geometry.template tap_class<2>(next(classes2)));
    block.axis[1] = Class::of(geometry.template tap_class<1>(next(classes1)));
    block.axis[0] = Class::of(geometry.template tap_class<0>(next(classes0)));
    block.group = next(shape.groups);
    block.first = rest * (tile.threads * tile.pixels);
    block.input[0] = Index(geometry.template axis<0>().input);
    block.input[1] = Index(geometry.template axis<1>().input);
    block.input[2] = Index(geometry.template axis<2>().input);
    block.strides = geometry.input_strides();
    block.weight = geometry.weight_strides();
    block.positions = Index(geometry.batch()) * block.axis[0].grid * block.axis[1].grid * block.axis[2].grid;
    const long long channels = shape.out_channels - block.first_channel;
    block.channels = int(channels < tile.channels ? channels : tile.channels);
    return block;
  }

  static Place locate(const Block& block, Index position) {
    const Index g1 = block.axis[1].grid, g2 = block.axis[2].grid;
    const Index plane = block.axis[0].grid * g1 * g2;
    const Index rest = position % plane, rows = rest / g2;
    return {.image = position / plane, .q = {rows / g1, rows % g1, rest % g2}};
  }
};

}  // namespace tapconv
