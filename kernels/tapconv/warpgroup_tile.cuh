// What a block of a warpgroup kernel computes, and where its pipeline stands.
#pragma once

#include "tapconv/epilogue.cuh"
#include "tapconv/geometry.cuh"
#include "tapconv/numbers.cuh"
#include "tapconv/shared/warpgroup.cuh"

namespace tapconv {

// A place in a ring of stages, and the parity of the phase of its barriers.
template <int stages>
struct Ring {
  int slot = 0;
  unsigned parity = 0;

  void advance() {
    if (++slot == stages) {
      slot = 0;
      parity ^= 1;
    }
  }
};

// Of the forward convolution.
template <class Config>
struct ForwardGeometry : Geometry<Config> {
  using Base = tapconv::Geometry<Config>;
  static constexpr shared::Shape shape = shared::forward_shape(Config::shape);

  template <int i>
  constexpr shared::Axis axis() const {
    shared::Axis axis = shape.axis[i];
    axis.input = Base::template axis<i>().input;
    axis.output = (whole_output<i>() - 1) / step<i> + 1;
    return axis;
  }

  // Of the transposed one, if it is one: outputs, and their distance in a class.
  template <int i>
  constexpr long long whole_output() const {
    return Base::template axis<i>().output;
  }
  template <int i>
  static constexpr long long step = Config::shape.transposed ? Config::shape.axis[i].stride : 1;
};

template <class Config>
struct WarpgroupTiles {
  using Index = typename Config::Index;
  using Geometry = ForwardGeometry<Config>;

  static constexpr shared::Shape real = Config::shape;
  static constexpr shared::Shape shape = Geometry::shape;  // the forward one: channels and positions below are its
  static constexpr shared::WarpgroupTile tile = Config::tile;
  static constexpr shared::WarpgroupLayout layout = shared::warpgroup_layout(shape, tile);

  static_assert(shared::is_consistent(tile, layout));
  static_assert(layout.shared_bytes + shared::warpgroup_barrier_bytes <= 227 * 1024);

  // The columns of an instruction that a block stores: each of a cluster its share.
  static constexpr int share = tile.columns / tile.cluster;
  static int first_column() { return tile.cluster == 1 ? 0 : int(blockIdx.x % tile.cluster) * share; }

  // A thread's share of the sums: of an instruction, and [segment][block of channels] of it. Register 4j + e of lane l
  // is row 16 * warp + l / 4 + 8 * (e / 2), column 8j + 2 * (l % 4) + e % 2 of the instruction's matrix.
  using BlockSums = float[share / 2];
  using Sums = BlockSums[tile.segments][tile.channel_blocks];

  // Whether there is such an output channel of a group.
  static bool is_channel(int channel) {
    return shape.out_channels % layout.block_channels == 0 || channel < shape.out_channels;
  }

  // Where a tile begins.
  struct Tile {
    long long group, channel;  // group, and first output channel in it
    Index image, at[3];        // output positions

    // In tiles of the packed weights.
    long long weights() const { return group * layout.channel_blocks + channel / layout.block_channels; }
  };

  struct Tiles {
    Index images, along[3];  // tiles
    long long count;
    int splits;  // parts of a sum
  };

  static Tiles tiles(const Geometry& geometry) {
    Tiles all;
    const auto divide = [](long long a, int b) { return Index((a + b - 1) / b); };
    all.images = divide(geometry.batch(), tile.images);
    all.along[0] = divide(geometry.template axis<0>().output, tile.extent[0]);
    all.along[1] = divide(geometry.template axis<1>().output, tile.extent[1]);
    all.along[2] = divide(geometry.template axis<2>().output, tile.extent[2]);
    all.count = shape.groups * layout.channel_blocks * all.images * all.along[0] * all.along[1] * all.along[2];
    all.splits = tile.splits;
    if constexpr (shared::has_dynamic_output(shape)) {
      const long long outputs[] = {geometry.template axis<0>().output, geometry.template axis<1>().output,
                                   geometry.template axis<2>().output};
      all.splits = shared::reduction_splits(shape, outputs, layout.chunks, layout.pairs);
    }
    return all;
  }

  // What a block computes, one after the other: parts of tiles. All of a tile's, or one of each where the blocks of a
  // cluster share tiles.
  struct Part {
    const Tiles& all;
    long long tile_index = blockIdx.x / tile.cluster;
    int number = blockIdx.x % tile.cluster;

    bool exists() const { return tile_index < all.count; }
    // Its chunks.
    int begin() const { return begin_of(number); }
    int end() const { return begin_of(number + 1); }
    // Of the block, in its tile.
    bool is_last() const { return !shared::keeps_totals(tile) || number + 1 == all.splits; }

    // Whether another tile follows.
    bool advance() {
      if (!is_last()) {
        ++number;
        return false;
      }
      if constexpr (tile.cluster == 1) number = 0;
      tile_index += gridDim.x / tile.cluster;
      return true;
    }

   private:
    int begin_of(int part) const {
      if constexpr (tile.splits == 1) return part * layout.chunks;
      return shared::part_begin(layout.chunks, all.splits, part);
    }
  };

  // Tiles that differ in their channels alone follow each other: they share inputs in the L2.
  static Tile tile_at(const Tiles& all, long long index) {
    Tile to;
    to.channel = index % layout.channel_blocks * layout.block_channels;
    index /= layout.channel_blocks;
#pragma unroll
    for (int i = 2; i >= 0; --i) {
      to.at[i] = Index(index % all.along[i]) * tile.extent[i];
      index /= all.along[i];
    }
    to.image = Index(index % all.images) * tile.images;
    to.group = index / all.images;
    return to;
  }

  // Of a tap, counted in the order D, H, W, that along an axis.
  template <int i>
  static int tap_along(int tap) {
    for (int later = 2; later > i; --later) tap /= layout.axis[later].taps;
    return tap % layout.axis[i].taps;
  }

  // Adds a tap's distance along an axis of the weights; whether the channel has such a tap.
  template <int i>
  static bool add_tap(const shared::ForwardChannel& channel, int tap, const shared::WeightStrides& strides,
                      long long& place) {
    long long position = tap_along<i>(tap);
    if constexpr (real.transposed)
      position = shared::forward_tap(real.axis[i], shape.axis[i], channel.number[i], tap_along<i>(tap));
    place += position * strides.axis[i];
    return position >= 0;
  }

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
};

}  // namespace tapconv
