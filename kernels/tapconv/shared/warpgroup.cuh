// How the `warpgroup` solver cuts a convolution up: what its kernels, its packing of weights and the host compute
// alike.
#pragma once

#include "tapconv/shared/forward.cuh"

namespace tapconv::shared {

// A block's tile and pipeline, as the host chooses them. Two warpgroups compute; a third one loads.
struct WarpgroupTile {
  bool pixels_are_rows = false;  // the instructions' 64 rows (M) are pixels and their columns (N) output channels; else
                                 // the other way round
  bool from_registers = false;   // these rows come from registers: see WarpgroupRegisters
  int columns = 0;               // N: a multiple of 8, at most 256
  int channel_blocks = 0;        // of a warpgroup: of 64 output channels, or of `columns`
  int segments = 0;              // of a warpgroup: of `columns` pixels, or of 64
  bool split_channels =
      false;  // the two warpgroups have the same pixels and different channels; else the other way round
  int images = 0, extent[3] = {};  // output positions of a block: images, D, H, W
  bool along_rows = false;         // the groups of 8 pixels of a segment follow each other along H, else along W
  int steps = 0;                   // of 8 input channels in a chunk of the reduction
  int pairs = 0;                   // (tap, step) pairs in a stage of weights
  int input_stages = 0, weight_stages = 0;
  int parts = 0;           // of an operand: 1, or 2 (3xTF32)
  bool scattered = false;  // outputs lie apart, see is_scattered(): storing them takes registers
  int splits = 1;          // parts that the chunks of a sum are cut into, at most: see reduction_splits()
  int cluster = 1;         // blocks that compute the parts of a tile: one all of them, or `splits` blocks a part each
};

// Whether every stage's sums are added to binary32 ones.
constexpr bool is_promoted(const WarpgroupTile& tile) { return tile.parts == 2; }

inline constexpr int warpgroup_rows = 64;          // of an instruction
inline constexpr int warpgroup_step_channels = 8;  // of an instruction
inline constexpr int warpgroup_unit_bytes = 16;    // four channels of a pixel, or of an output channel's weights
inline constexpr int warpgroup_threads = 384;
inline constexpr int warpgroup_computing = 256;  // threads of them
inline constexpr int warpgroup_loaders = 96;  // threads that load inputs; the fourth warp of their group loads weights
inline constexpr int warpgroup_staged_columns = 128;  // pixels of 8 channels that a warp stores at once
inline constexpr int warpgroup_barrier_bytes = 512;   // at most, of static shared memory

// Registers of a thread. A kernel is launched with 168; computing threads that need more take them from the others.
constexpr int accumulators(const WarpgroupTile& tile) { return tile.segments * tile.channel_blocks * tile.columns / 2; }
// Whether a block keeps the sum of the parts before beside that of a part.
constexpr bool keeps_totals(const WarpgroupTile& tile) { return tile.splits > tile.cluster; }
constexpr int sum_registers(const WarpgroupTile& tile) {
  return accumulators(tile) * (keeps_totals(tile) ? 2 : 1) + (is_promoted(tile) ? tile.columns / 2 : 0);
}
// Pixels that come from registers: those of a stage, and as many of the next; where sums are promoted two segments' of
// a stage.
constexpr int fragment_registers(const WarpgroupTile& tile) {
  if (!tile.from_registers) return 0;
  return is_promoted(tile) ? 16 * tile.pairs : 4 * tile.segments * ((tile.pairs + 1) / 2 * 2 + tile.pairs);
}
constexpr int computing_registers(const WarpgroupTile& tile) {
  // Found by compiling: with fewer ptxas spills. Loaders need 72.
  const int sums = sum_registers(tile), others = (is_promoted(tile) || tile.splits > 1) && sums <= 144 ? 64 : 56;
  const int wanted =
      (sums + others + fragment_registers(tile) + (tile.from_registers ? 8 : 0) + (tile.scattered ? 8 : 0)) / 8 * 8;
  return wanted < 176 ? 176 : wanted;
}
constexpr int loading_registers(const WarpgroupTile& tile) { return 3 * 168 - 2 * computing_registers(tile); }

inline constexpr int most_sum_registers = 160;
// Loaders that copy need 40.
inline constexpr int most_computing_registers = 232;

// Items of 8 channels that a loader can have in flight.
constexpr int most_loading(const WarpgroupTile& tile) {
  const int fitting = (loading_registers(tile) - 44) / 9;
  return fitting < 2 ? 2 : fitting > 14 ? 14 : fitting;
}

// The input positions of one axis that a tile needs, in the order in which they are stored: `slots` sequences of
// `length` positions, so that a tap is one distance for all outputs whatever the stride. Neighbours are `stride` apart
// in the input, and an output's from the next one's 1; or they are neighbours there, too, and `step` is the stride.
struct StoredAxis {
  long long stride, dilation, first;  // tap t of output q meets input q*stride + t*dilation + first
  int taps, tile;
  int slots, length, shift;  // taps `slots` apart share a sequence, where they are `shift` positions apart
  int step = 1;              // stored positions from an output to the next
  int lead = 0;              // stored positions before the first that is needed
  bool in_fours = false;     // four at a time can be copied

  constexpr int count() const { return slots * length; }
  // From output 0's first tap, in stored positions.
  constexpr int offset(int tap) const { return lead + tap % slots * length + tap / slots * shift; }
  // The input position of a stored one, for a tile that begins at output `begin`.
  constexpr long long position(long long begin, int stored) const {
    return first + begin * stride + (stored % length - lead) * (stride / step) + stored / length * dilation;
  }
};

constexpr StoredAxis stored_axis(const Axis& axis, int tile) {
  StoredAxis stored{.stride = axis.stride,
                    .dilation = axis.dilation,
                    .first = -axis.padding,
                    .taps = static_cast<int>(axis.kernel),
                    .tile = tile,
                    .slots = static_cast<int>(axis.kernel),
                    .length = tile,
                    .shift = 0};
  // Taps whose distance is a multiple of the stride can share a sequence; it pays where the tile is longer than the
  // distance.
  const long long period = axis.stride / greatest_common_divisor(axis.dilation, axis.stride);
  if (period < axis.kernel) {
    const long long shift = period * axis.dilation / axis.stride;
    const long long length = tile + (axis.kernel - 1) / period * shift;
    if (period * length <= axis.kernel * tile) {
      stored.slots = static_cast<int>(period);
      stored.length = static_cast<int>(length);
      stored.shift = static_cast<int>(shift);
    }
  }
  return stored;
}

// The same of a row of which four pixels are copied at a time, from multiples of four in the input: the whole row that
// a tile needs, or one for each tap where those are far apart. As above where neither is possible, or would be more
// copies.
constexpr StoredAxis copied_axis(const Axis& axis, int tile) {
  StoredAxis stored = stored_axis(axis, tile);
  const auto lead = static_cast<int>((stored.first % 4 + 4) % 4);
  const long long whole = (lead + (tile - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 4) / 4 * 4;
  const long long apart = (lead + tile + 3) / 4 * 4;
  const bool can_be_apart = axis.stride == 1 && axis.dilation % 4 == 0;
  if (can_be_apart && axis.kernel * apart < whole) {
    stored.slots = stored.taps;
    stored.length = static_cast<int>(apart);
    stored.shift = 0;
  } else if (whole <= 4ll * axis.kernel * tile) {
    stored.slots = 1;
    stored.length = static_cast<int>(whole);
    stored.shift = static_cast<int>(axis.dilation);
    stored.step = static_cast<int>(axis.stride);
  } else {
    return stored;
  }
  stored.lead = lead;
  stored.in_fours = true;
  return stored;
}

constexpr int ceil_divide(int a, int b) { return (a + b - 1) / b; }

// Parts of a sum: cut so that one image fills the device, whatever the batch, for the parts' order is that of the bits.
// Blocks are counted as if all tiles had 128 channels and pixels; 100 of them nearly fill 132 multiprocessors. A part
// is worth its exchange if it has some 24 instructions of each accumulator, and two chunks, of which one is loaded
// while the other is multiplied. `outputs` are those of an image.
constexpr int reduction_splits(const Shape& shape, const long long (&outputs)[3], int chunks, int pairs) {
  constexpr int most = 8;  // blocks that a cluster can have on any device
  const long long blocks =
      shape.groups * ((shape.out_channels + 127) / 128) * ((outputs[0] * outputs[1] * outputs[2] + 127) / 128);
  const int least = pairs < 12 ? ceil_divide(24, pairs) : 2;
  int splits = 1;
  while (splits < most && blocks * splits < 100 && chunks / (2 * splits) >= least) splits *= 2;
  return splits;
}

// Whether the number of parts is known only at the launch.
constexpr bool has_dynamic_output(const Shape& shape) {
  return shape.axis[0].output == 0 || shape.axis[1].output == 0 || shape.axis[2].output == 0;
}

// Where part `part` of a sum begins, in chunks; the last one ends where one more would begin.
constexpr int part_begin(int chunks, int splits, int part) {
  return static_cast<int>(static_cast<long long>(chunks) * part / splits);
}

// Sizes and places in shared memory, in units of 16 bytes unless a name says otherwise.
struct WarpgroupLayout {
  StoredAxis axis[3];
  int taps, pairs;                          // of the filter; (tap, step) pairs of a chunk
  int chunks;                               // of input channels
  int block_channels;                       // output channels of a block
  long long channel_blocks;                 // blocks of output channels in a group
  int pixels;                               // stored, of a channel
  int pixel_pitch;                          // from a unit of channels to the next
  int row_pitch, plane_pitch, image_pitch;  // stored pixels
  int group_pitch;                          // from a segment's 8 pixels to the next 8
  int input_part, input_stage;              // the units of one part; of all
  int pair_part, pair, weight_stage;
  int stages;  // of weights a chunk
  int staging_bytes, sources_bytes, exchange_bytes;
  long long shared_bytes;
  int block_pixels;
};

// Whether pixels that come from registers are copied four at a time: those are neighbours in memory, exist all or none,
// and lie at a multiple of 16 bytes, as those of dense tensors do whose rows are a multiple of four.
constexpr bool copies_fours(const Shape& shape, const WarpgroupTile& tile) {
  const Axis& row = shape.axis[2];
  const auto fits = [](long long distance) { return distance > 0 && distance % 4 == 0; };
  // Of an axis of one position no distance counts.
  const auto fits_axis = [&](int i) { return shape.axis[i].input == 1 || fits(shape.input.axis[i]); };
  return tile.from_registers && shape.boundary == Boundary::zeros && fits(row.input) && shape.input.axis[2] == 1 &&
         fits(shape.input.outer) && fits(shape.input.inner) && fits_axis(0) && fits_axis(1) &&
         copied_axis(row, tile.extent[2]).in_fours;
}
constexpr int copied_pixels(const Shape& shape, const WarpgroupTile& tile) { return copies_fours(shape, tile) ? 4 : 1; }

// `shape` is a forward one, here as above and below.
constexpr WarpgroupLayout warpgroup_layout(const Shape& shape, const WarpgroupTile& tile) {
  WarpgroupLayout to{};
  to.taps = 1;
  for (int i = 0; i < 3; ++i) {
    to.axis[i] = i == 2 && copies_fours(shape, tile) ? copied_axis(shape.axis[i], tile.extent[i])
                                                     : stored_axis(shape.axis[i], tile.extent[i]);
    to.taps *= to.axis[i].taps;
  }
  const int chunk_channels = tile.steps * warpgroup_step_channels;
  to.pairs = to.taps * tile.steps;
  to.chunks = static_cast<int>((shape.in_channels + chunk_channels - 1) / chunk_channels);
  to.block_channels =
      (tile.pixels_are_rows ? tile.columns : warpgroup_rows) * tile.channel_blocks * (tile.split_channels ? 2 : 1);
  to.channel_blocks = (shape.out_channels + to.block_channels - 1) / to.block_channels;
  to.row_pitch = to.axis[2].count();
  to.plane_pitch = to.axis[1].count() * to.row_pitch;
  to.image_pitch = to.axis[0].count() * to.plane_pitch;
  to.pixels = tile.images * to.image_pitch;
  to.group_pitch = tile.along_rows ? to.row_pitch : 8 * to.axis[2].step;
  // From registers: pixels of a channel are neighbours, and those of the next one 8 banks further, for threads read
  // 8 pixels of 4 channels at once.
  to.pixel_pitch = tile.from_registers ? (to.pixels + 23) / 32 * 32 + 8 : to.pixels;
  to.input_part = 2 * tile.steps * to.pixel_pitch;
  to.input_stage = tile.from_registers ? to.input_part : tile.parts * to.input_part;
  to.pair_part = 2 * to.block_channels;
  to.pair = tile.parts * to.pair_part;
  to.weight_stage = tile.pairs * to.pair;
  to.stages = ceil_divide(to.pairs, tile.pairs);
  // 8 warps' 8 channels, or 2 warpgroups' 32 channels, and some pixels more, see WarpgroupStore.
  to.staging_bytes =
      tile.pixels_are_rows ? 2 * 32 * (warpgroup_rows + 4) * 4 : 8 * 8 * (warpgroup_staged_columns + 8) * 4;
  // Where each stored pixel comes from.
  to.sources_bytes = ceil_divide(to.pixels, warpgroup_loaders) * warpgroup_loaders * 8;  // of any width
  // The sums of a part, for the other blocks of the cluster.
  to.exchange_bytes = tile.cluster > 1 ? accumulators(tile) * warpgroup_computing * 4 : 0;
  const auto bytes = [](int stages, int units) {
    return static_cast<long long>(warpgroup_unit_bytes) * stages * units;
  };
  to.shared_bytes = bytes(tile.input_stages, to.input_stage) + bytes(tile.weight_stages, to.weight_stage) +
                    to.staging_bytes + to.sources_bytes + to.exchange_bytes;
  to.block_pixels = tile.images * tile.extent[0] * tile.extent[1] * tile.extent[2];
  return to;
}

// How many classes' outputs follow each other along W where they are stored together: all of `real`, which is not the
// forward shape, or one.
constexpr int interleaved_classes(const Shape& real) {
  const Axis& row = real.axis[2];
  // Channels that are stored together begin at a multiple of eight.
  const bool possible = real.transposed && is_interleaved(row) && 8 % row.stride == 0;
  return possible ? static_cast<int>(row.stride) : 1;
}

// Pixels of a segment.
constexpr int segment_pixels(const WarpgroupTile& tile) { return tile.pixels_are_rows ? warpgroup_rows : tile.columns; }

// A place in a tile: image, D, H, W.
struct TilePlace {
  int image, at[3];
};

// Where pixel `index` of a segment lies, counting the block's segments.
constexpr TilePlace segment_place(const WarpgroupTile& tile, int segment, int index) {
  const int groups = segment_pixels(tile) / 8;
  TilePlace place{};
  int row = 0, column = 0, before = segment;  // rows and columns of groups of 8 pixels
  if (tile.along_rows) {
    const int columns = tile.extent[2] / 8, rows = tile.extent[1] / groups;
    column = before % columns;
    before /= columns;
    row = before % rows * groups + index / 8;
    before /= rows;
  } else {
    const int columns = tile.extent[2] / 8 / groups;
    column = before % columns * groups + index / 8;
    before /= columns;
    row = before % tile.extent[1];
    before /= tile.extent[1];
  }
  place.at[2] = column * 8 + index % 8;
  place.at[1] = row;
  place.at[0] = before % tile.extent[0];
  place.image = before / tile.extent[0];
  return place;
}

// The stored pixel that tap 0 of a place meets.
constexpr int stored_pixel(const WarpgroupLayout& layout, const TilePlace& place) {
  return place.image * layout.image_pitch + place.at[0] * layout.plane_pitch + place.at[1] * layout.row_pitch +
         place.at[2] * layout.axis[2].step;
}

// From there to another tap, taps counted in the order D, H, W.
constexpr int tap_offset(const WarpgroupLayout& layout, int tap) {
  const int t2 = tap % layout.axis[2].taps, rows = tap / layout.axis[2].taps;
  const int t1 = rows % layout.axis[1].taps, t0 = rows / layout.axis[1].taps;
  return layout.axis[0].offset(t0) * layout.plane_pitch + layout.axis[1].offset(t1) * layout.row_pitch +
         layout.axis[2].offset(t2);
}

// Whether all weights of a block fit, and are the same for all its tiles: they are loaded once. For that the blocks of
// a launch are a multiple of those of output channels, which follow each other.
constexpr bool is_resident(const Shape& shape, const WarpgroupTile& tile, const WarpgroupLayout& layout) {
  constexpr long long most_blocks = 16;  // what is left over of the multiprocessors is less
  return shape.groups == 1 && layout.channel_blocks <= most_blocks && tile.cluster == 1 &&
         layout.chunks * layout.stages == tile.weight_stages;
}

// Whether the warpgroups of a block multiply in turns: where sums are short, storing them takes as long. One is a tile
// ahead of the other, so the rings have to hold all operands of a tile, and the beginning of the next one's.
constexpr bool in_turns(const Shape& shape, const WarpgroupTile& tile, const WarpgroupLayout& layout) {
  return tile.from_registers && !is_promoted(tile) && tile.splits == 1 && tile.input_stages > layout.chunks &&
         is_resident(shape, tile, layout);
}

// Whether the numbers of a tile fit each other.
constexpr bool is_consistent(const WarpgroupTile& tile, const WarpgroupLayout& layout) {
  const int groups = segment_pixels(tile) / 8;
  return tile.columns % 8 == 0 && tile.columns >= 8 && tile.columns <= 256 && tile.extent[2] % 8 == 0 &&
         (tile.along_rows ? tile.extent[1] % groups == 0 : tile.extent[2] / 8 % groups == 0) &&
         layout.block_pixels == segment_pixels(tile) * tile.segments * (tile.split_channels ? 1 : 2) &&
         accumulators(tile) <= 128 && tile.pairs >= 1 && tile.pairs <= layout.pairs && tile.input_stages >= 1 &&
         tile.weight_stages >= 1 && (tile.parts == 1 || tile.parts == 2) &&
         // More sums, or segments or blocks of those that need room beside them, would leave the loaders too few
         // registers.
         sum_registers(tile) <= most_sum_registers && (!is_promoted(tile) || tile.channel_blocks == 1) &&
         (!tile.from_registers || (tile.pixels_are_rows && computing_registers(tile) <= most_computing_registers)) &&
         ((!is_promoted(tile) && tile.splits == 1) || tile.segments <= 8) &&
         // A block of a cluster finishes its share of the columns.
         (tile.cluster == 1 || (tile.cluster == tile.splits && tile.columns % (8 * tile.cluster) == 0)) &&
         // Descriptors hold 14 bits of units.
         layout.group_pitch < 1 << 14 && layout.pixels < 1 << 14 &&
         // A stage is released when the next one's instructions have been issued.
         (is_promoted(tile) || ((tile.input_stages > 1 || layout.chunks == 1) &&
                                (tile.weight_stages > 1 || layout.chunks * layout.stages == 1)));
}

}  // namespace tapconv::shared
