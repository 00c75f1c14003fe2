#include "solver/warpgroup_tile.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include "problem/text.hpp"

namespace tapconv {
namespace {

using shared::WarpgroupLayout;
using shared::WarpgroupTile;

constexpr std::int64_t most_accumulators = 128;
/// Beyond these inputs that are rounded once are worth it. With promoted sums, registers do not suffice for more.
constexpr std::int64_t most_taps_from_registers = 12, most_promoted_taps_from_registers = 4;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
int round_up(std::int64_t a, int b) { return static_cast<int>(divide_up(a, b) * b); }

/// The part of the reduction that is the same for all tiles of a problem, so that all add in one order.
struct Reduction {
  int steps;     ///< of 8 channels a chunk
  int promoted;  ///< pairs whose sums are promoted together; 0: all
  int splits;    ///< parts that the chunks are cut into; where a launch decides, the most
  std::int64_t taps = 1;

  Reduction(const shared::Shape& shape, int parts) {
    for (const shared::Axis& axis : shape.axis) taps *= axis.kernel;
    // A chunk of few taps holds more channels, so that a stage is worth its barriers.
    const std::int64_t all = divide_up(shape.in_channels, shared::warpgroup_step_channels);
    steps = static_cast<int>(std::min<std::int64_t>(all, taps >= 5 ? 1 : taps >= 2 ? 2 : 4));
    const auto pairs = static_cast<int>(taps) * steps;
    constexpr int together = 3;
    promoted = parts == 2 ? static_cast<int>(divide_up(pairs, divide_up(pairs, together))) : 0;
    // Fewer outputs have more parts: so one stands for a size that is not known.
    long long outputs[3];
    std::ranges::transform(shape.axis, outputs, [](const shared::Axis& axis) { return std::max(axis.output, 1LL); });
    splits = shared::reduction_splits(shape, outputs, static_cast<int>(divide_up(all, steps)), pairs);
  }
};

/// Sizes to cut an axis of `length` into: powers of two, one of them `wanted` or more, and what divides it evenly.
std::vector<int> cuts(std::int64_t length, int unit, int most, int wanted) {
  std::set<int> sizes;
  for (int size = unit; size <= most; size *= 2) {
    sizes.insert(size);
    if (size >= length && size >= wanted) break;
  }
  for (int parts = 1; parts <= 8; ++parts) {
    const std::int64_t part = divide_up(divide_up(length, parts), unit) * unit;
    if (part <= most) sizes.insert(static_cast<int>(part));
  }
  return {sizes.begin(), sizes.end()};
}

class Enumeration {
 public:
  Enumeration(const Task& task, const DeviceModel& device)
      : shape_(warpgroup_shape(task)),
        sizes_(warpgroup_sizes(task, sizes_of(task.problem, task.strided))),
        shared_bytes_(device.facts.shared_per_block_opt_in) {
    parts_ = task.problem.contract == Contract::tf32 ? 1 : 2;
    scattered_ = shared::is_scattered(shape_of(task));
  }

  std::vector<WarpgroupTile> all() {
    // A cluster has as many blocks as its kernel was compiled for.
    const int splits = reduction().splits;
    for (const int cluster :
         splits == 1 || shared::has_dynamic_output(shape_) ? std::vector{1} : std::vector{1, splits}) {
      for (const bool pixels_are_rows : {false, true}) {
        for (const bool split_channels : {true, false}) {
          if (!pixels_are_rows) {
            channels_as_rows({.split_channels = split_channels, .cluster = cluster});
            continue;
          }
          for (const bool from_registers : {false, true}) {
            if (from_registers && reduction().taps > most_taps()) continue;
            pixels_as_rows({.from_registers = from_registers, .split_channels = split_channels, .cluster = cluster});
          }
        }
      }
    }
    for (const WarpgroupTile& tile : smallest()) {
      if (std::ranges::find(tiles_, text(tile), [](const WarpgroupTile& other) { return text(other); }) == tiles_.end())
        tiles_.push_back(tile);
    }
    return std::move(tiles_);
  }

  /// Fills in what a tile's text does not say; false if the tile is not legal.
  bool complete(WarpgroupTile& tile) const {
    const auto in_range = [](int value, int most) { return value >= 1 && value <= most; };
    if (!in_range(tile.columns, 256) || !in_range(tile.channel_blocks, 4) || !in_range(tile.segments, 64) ||
        !in_range(tile.images, 64) || !in_range(tile.extent[0], 64) || !in_range(tile.extent[1], 256) ||
        !in_range(tile.extent[2], 512) || !in_range(tile.pairs, 1 << 12) || !in_range(tile.input_stages, 8) ||
        !in_range(tile.weight_stages, 16) || (tile.cluster != 1 && shared::has_dynamic_output(shape_)) ||
        std::int64_t{tile.images} * tile.extent[0] * tile.extent[1] * tile.extent[2] > 1 << 14)
      return false;
    const Reduction reduction = this->reduction();
    if (tile.splits != reduction.splits) return false;
    tile.steps = reduction.steps;
    tile.parts = parts_;
    tile.scattered = scattered_;
    return (!shared::is_promoted(tile) || tile.pairs == reduction.promoted) && is_legal(tile);
  }

  /// The tile that is there for any sizes, if there is any; else nothing.
  std::vector<WarpgroupTile> smallest() const {
    Enumeration one = *this;
    one.tiles_.clear();
    one.with_columns({.channel_blocks = 1, .images = 1, .extent = {1, 1, 64}});
    return std::move(one.tiles_);
  }

 private:
  void channels_as_rows(WarpgroupTile tile) {
    for (int blocks = 1; blocks <= 2; ++blocks) {
      const int channels = blocks * shared::warpgroup_rows * (tile.split_channels ? 2 : 1);
      if (channels / 2 >= shape_.out_channels && channels > shared::warpgroup_rows) continue;
      tile.channel_blocks = blocks;
      with_boxes(tile, 0);
    }
  }

  void pixels_as_rows(WarpgroupTile tile) {
    tile.pixels_are_rows = true;
    tile.channel_blocks = 1;
    for (int parts = tile.split_channels ? 2 : 1; parts <= 16; ++parts) {
      const int columns = round_up(divide_up(shape_.out_channels, parts), 8 * tile.cluster);
      if (parts > 4 && columns < 64) break;
      if (columns > 256 || columns == tile.columns) continue;
      tile.columns = columns;
      with_boxes(tile, columns);
    }
  }

  /// Every box of output positions. `columns` is 0 if it follows from the box.
  void with_boxes(WarpgroupTile tile, int columns) {
    const std::int64_t images = sizes_.batch;
    const auto& output = sizes_.output;
    for (const bool along_rows : {false, true}) {
      tile.along_rows = along_rows;
      // A segment has 64 pixels, or groups of 8 for each block of a cluster.
      const int groups = columns ? shared::warpgroup_rows / 8 : tile.cluster;
      for (const int w : cuts(output[2], 8, 256, along_rows ? 8 : 8 * groups)) {
        for (const int h : cuts(output[1], 1, 64, along_rows ? groups : 1)) {
          for (const int d : cuts(output[0], 1, 16, 1)) {
            for (int n = 1; n <= 8; n *= 2) {
              if (n > 1 && (n / 2 >= images || d < output[0] || h < output[1] || w < output[2])) continue;
              if (d > 1 && h < output[1] && h < 4) continue;  // slabs that are thin twice have halos alone
              tile.images = n;
              tile.extent[0] = d;
              tile.extent[1] = h;
              tile.extent[2] = w;
              if (columns)
                with_segments(tile, shared::warpgroup_rows / 8);
              else
                with_columns(tile);
            }
          }
        }
      }
    }
  }

  /// Channels are rows: a segment is as long as it can be.
  void with_columns(WarpgroupTile tile) {
    const int line = tile.along_rows ? tile.extent[1] : tile.extent[2] / 8;  // groups that can follow each other
    for (int groups = std::min(line, 32); groups >= 1; --groups) {
      if (line % groups != 0) continue;
      tile.columns = 8 * groups;
      if (with_segments(tile, groups)) return;
    }
  }

  bool with_segments(WarpgroupTile tile, int groups) {
    const int line = tile.along_rows ? tile.extent[1] : tile.extent[2] / 8;
    if (line % groups != 0) return false;
    const std::int64_t pixels =
        std::int64_t{tile.images} * tile.extent[0] * tile.extent[1] * tile.extent[2] / (tile.split_channels ? 1 : 2);
    const std::int64_t segment = 8 * groups;
    if (pixels % segment != 0 || pixels < 32) return false;
    const std::int64_t segments = pixels / segment;
    if (segments * tile.channel_blocks * tile.columns / 2 > most_accumulators) return false;
    tile.segments = static_cast<int>(segments);
    // Where sums of parts take registers and shared memory, shorter segments may have what longer ones lack.
    bool is_there = false;
    // Inputs of more than a tile ahead only keep stores waiting.
    const std::int64_t chunks = divide_up(shape_.in_channels, shared::warpgroup_step_channels * reduction().steps);
    const auto ahead = static_cast<int>(std::clamp<std::int64_t>(chunks / reduction().splits, 2, 4));
    for (int stages = 2; stages <= ahead; ++stages) is_there |= with_pipeline(tile, stages);
    // But where warpgroups multiply in turns it is the next tile's time.
    for (const std::int64_t stages : {chunks + 1, 2 * chunks}) {
      if (!tile.from_registers || stages <= ahead || stages > 8) continue;
      if (with_pipeline(tile, static_cast<int>(stages)) &&
          !shared::in_turns(shape_, tiles_.back(), shared::warpgroup_layout(shape_, tiles_.back())))
        tiles_.pop_back();
    }
    return is_there || reduction().splits == 1;
  }

  /// Fills shared memory; whether the tile is legal.
  bool with_pipeline(WarpgroupTile tile, int input_stages) {
    const Reduction reduction = this->reduction();
    tile.steps = reduction.steps;
    tile.parts = parts_;
    tile.scattered = scattered_;
    tile.splits = reduction.splits;
    tile.pairs = 1;
    tile.input_stages = input_stages;
    tile.weight_stages = 1;
    const WarpgroupLayout one = shared::warpgroup_layout(shape_, tile);
    if (one.input_stage > 1 << 14) return false;
    const std::int64_t room = shared_bytes_ - shared::warpgroup_barrier_bytes - one.staging_bytes - one.sources_bytes -
                              one.exchange_bytes -
                              std::int64_t{tile.input_stages} * one.input_stage * shared::warpgroup_unit_bytes;
    const std::int64_t pair_bytes = std::int64_t{one.pair} * shared::warpgroup_unit_bytes;
    const std::int64_t fitting = room / pair_bytes;
    const int least = shared::is_promoted(tile) ? 1 : 2;
    if (reduction.promoted) {
      tile.pairs = reduction.promoted;
    } else {
      // Stages as even as they can be, of at most a fourth of the room and eight pairs, or what registers hold.
      std::int64_t most =
          std::clamp<std::int64_t>(fitting / 4, 1, tile.from_registers ? std::max(8 / tile.segments, 1) : 8);
      do {
        tile.pairs = static_cast<int>(divide_up(one.pairs, divide_up(one.pairs, most)));
        most /= 2;
      } while (most > 0 && tile.from_registers && shared::computing_registers(tile) > shared::most_computing_registers);
    }
    // A single pair has no half that is rounded while the other is multiplied.
    if (tile.from_registers && tile.pairs == 1 && one.pairs > 1) return false;
    if (fitting < std::int64_t{least} * tile.pairs) return false;
    const std::int64_t stages_of_chunk = divide_up(one.pairs, tile.pairs);
    const bool all_fit =
        tile.cluster == 1 && stages_of_chunk * one.chunks * tile.pairs <= fitting && stages_of_chunk * one.chunks <= 12;
    tile.weight_stages = static_cast<int>(all_fit ? stages_of_chunk * one.chunks
                                                  : std::clamp<std::int64_t>(fitting / tile.pairs, least, 6));
    if (!is_legal(tile)) return false;
    tiles_.push_back(tile);
    return true;
  }

  Reduction reduction() const { return {shape_, parts_}; }

  bool is_legal(const WarpgroupTile& tile) const {
    const WarpgroupLayout layout = shared::warpgroup_layout(shape_, tile);
    return shared::is_consistent(tile, layout) && suits_registers(tile, layout.taps) &&
           layout.shared_bytes + shared::warpgroup_barrier_bytes <= shared_bytes_;
  }

  /// Of a filter whose pixels come from registers: one, or more where loaders that round would read with a stride.
  std::int64_t most_taps() const {
    if (shape_.axis[2].stride == 1) return 1;
    return parts_ == 2 ? most_promoted_taps_from_registers : most_taps_from_registers;
  }

  bool suits_registers(const WarpgroupTile& tile, std::int64_t taps) const {
    return !tile.from_registers || taps == 1 || (taps <= most_taps() && shared::copied_pixels(shape_, tile) > 1);
  }

  shared::Shape shape_;
  shared::Sizes sizes_;
  std::int64_t shared_bytes_;
  int parts_ = 1;
  bool scattered_ = false;
  std::vector<WarpgroupTile> tiles_;
};

}  // namespace

shared::Shape warpgroup_shape(const Task& task) { return shared::forward_shape(shape_of(task)); }

shared::Sizes warpgroup_sizes(const Task& task, shared::Sizes sizes) {
  if (task.problem.kind != Kind::transposed) return sizes;
  const shared::Shape shape = shape_of(task);
  for (int i = 0; i < 3; ++i) sizes.output[i] = divide_up(sizes.output[i], shape.axis[i].stride);
  return sizes;
}

std::vector<WarpgroupTile> warpgroup_tiles(const Task& task, const DeviceModel& device) {
  return Enumeration(task, device).all();
}

bool has_warpgroup_tile(const Task& task, const DeviceModel& device) {
  return !Enumeration(task, device).smallest().empty();
}

std::string text(const WarpgroupTile& tile) {
  const std::string unsplit =
      fmt::format("rows={} columns={} blocks={} segments={} split={} tile={}x{}x{}x{} groups={} pairs={} stages={},{}",
                  tile.from_registers    ? "registers"
                  : tile.pixels_are_rows ? "pixels"
                                         : "channels",
                  tile.columns, tile.channel_blocks, tile.segments, tile.split_channels ? "channels" : "pixels",
                  tile.images, tile.extent[0], tile.extent[1], tile.extent[2], tile.along_rows ? "H" : "W", tile.pairs,
                  tile.input_stages, tile.weight_stages);
  return tile.splits == 1 ? unsplit : unsplit + fmt::format(" splits={} cluster={}", tile.splits, tile.cluster);
}

std::optional<WarpgroupTile> parse_warpgroup_tile(const Task& task, std::string_view text, const DeviceModel& device) {
  WarpgroupTile tile;
  char rows[10] = {}, split[9] = {}, groups = 0;
  const std::string terminated(text);
  auto& [d, h, w] = tile.extent;
  if (std::sscanf(terminated.c_str(),
                  "rows=%9[a-z] columns=%d blocks=%d segments=%d split=%8[a-z] tile=%dx%dx%dx%d groups=%c pairs=%d "
                  "stages=%d,%d splits=%d cluster=%d",
                  rows, &tile.columns, &tile.channel_blocks, &tile.segments, split, &tile.images, &d, &h, &w, &groups,
                  &tile.pairs, &tile.input_stages, &tile.weight_stages, &tile.splits, &tile.cluster) < 13)
    return std::nullopt;
  tile.from_registers = rows == std::string_view("registers");
  tile.pixels_are_rows = tile.from_registers || rows == std::string_view("pixels");
  tile.split_channels = split == std::string_view("channels");
  tile.along_rows = groups == 'H';
  if (tapconv::text(tile) != text || !Enumeration(task, device).complete(tile)) return std::nullopt;
  return tile;
}

std::int64_t warpgroup_tile_count(const Task& task, const WarpgroupTile& tile, const shared::Sizes& sizes) {
  const WarpgroupLayout layout = shared::warpgroup_layout(warpgroup_shape(task), tile);
  const shared::Sizes forward = warpgroup_sizes(task, sizes);
  std::int64_t count = task.problem.groups * layout.channel_blocks * divide_up(sizes.batch, tile.images);
  for (int i = 0; i < 3; ++i) count *= divide_up(forward.output[i], tile.extent[i]);
  return count;
}

}  // namespace tapconv
