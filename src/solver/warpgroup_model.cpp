#include <algorithm>
#include <cmath>

#include "solver/warpgroup_tile.hpp"

namespace tapconv {
namespace {

// Of a multiprocessor, in clocks and bytes; fitted to bench/candidates.py, see docs/kernels.md.
constexpr double shared_byte_per_clock = 105;
constexpr double l2_byte_per_clock = 325;
constexpr double wide_instruction = 1.05;  // of more than 128 columns
constexpr double item_clocks = 15.7;       // of a loader's 8 channels of a pixel
constexpr double round_clocks = 1270;      // of a loader's items that are in flight together
constexpr double stage_clocks = 66;        // of a stage of weights
constexpr double fetch_clocks = 1000;      // until a stage of weights is there
constexpr double run_clocks = 56;          // of a warp's 32 outputs, in runs along W
constexpr double group_clocks = 16.5;      // in groups of 8
constexpr double row_clocks = 22;          // from pixels that are rows
constexpr double tile_clocks = 607;
constexpr double part_clocks = 400;             // of the end of a part, and of its addition; not fitted yet
constexpr double exchange_clocks = 1500;        // of the meetings of a cluster; not fitted yet
constexpr double exchange_byte_per_clock = 32;  // from other blocks' shared memory; not fitted yet
constexpr double fill_clocks = 4400;            // of a block's first stages
constexpr double sustained_clock = 0.891;       // of the highest
constexpr double memory_share = 0.58;           // of the bytes that a second's copying moves
constexpr double hidden = 0.35;                 // of the shorter one of computing and memory
constexpr double launch_ms = 0.0058;
// Beyond what the L2 keeps: of a line of a tile's outputs, and of 8 outputs that begin and end within 32 bytes.
constexpr double line_ms = 15e-9, group_ms = 20e-9, row_ms = 13.3e-9;
constexpr double kept_bytes = 3e7;
constexpr double packing_ms = 0.004, packing_byte_per_ms = 4e8;

struct StoreCost {
  double clocks, group_ms;
};

StoreCost store_cost(const shared::WarpgroupTile& tile) {
  if (tile.pixels_are_rows) return {row_clocks, row_ms};
  return tile.along_rows ? StoreCost{group_clocks, group_ms} : StoreCost{run_clocks, 0};
}

double ceil_of(double a, double b) { return std::ceil(a / b); }

}  // namespace

Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device) {
  const shared::Sizes sizes = sizes_of(task.problem);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape_of(task), tile);
  const auto count = static_cast<double>(warpgroup_tile_count(task, tile, sizes));

  // A 64 x N x 8 instruction takes N / 2 clocks, or those of what it reads from shared memory.
  const double instruction =
      std::max(tile.columns / 2.0, 32 * (shared::warpgroup_rows + tile.columns) / shared_byte_per_clock) *
      (tile.columns > 128 ? wide_instruction : 1);
  const double products = tile.parts == 2 ? 3 : 1;
  // With one stage of weights, the next one is only asked for when it has been read.
  const double stage = stage_clocks + (tile.weight_stages == 1 ? fetch_clocks : 0);
  const double multiplying =
      2.0 * layout.pairs * tile.segments * tile.channel_blocks * products * instruction + layout.stages * stage;

  const double items = ceil_of(layout.pixels, shared::warpgroup_loaders) * tile.steps;
  const double loading = std::max(items * item_clocks, ceil_of(items, shared::most_loading(tile)) * round_clocks);

  const bool resident = tile.cluster == 1 && layout.channel_blocks * task.problem.groups == 1 &&
                        tile.weight_stages == layout.chunks * layout.stages;
  const double weight_bytes = resident ? 0 : double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs;
  const double input_bytes = 4.0 * shared::warpgroup_step_channels * tile.steps * layout.pixels;
  const double fetching = (weight_bytes + input_bytes) / l2_byte_per_clock;

  const StoreCost store = store_cost(tile);
  const double outputs = double(layout.block_pixels) * layout.block_channels;
  // The blocks of a cluster take a part of the chunks and of the outputs each, and read all sums of a share.
  const double exchange = tile.cluster > 1 ? exchange_clocks + layout.exchange_bytes / exchange_byte_per_clock
                                           : (tile.splits - 1) * part_clocks;
  const double clocks = shared::ceil_divide(layout.chunks, tile.cluster) * std::max({multiplying, loading, fetching}) +
                        exchange + outputs / (8 * 32) * store.clocks / tile.cluster + tile_clocks;
  const double waves = count * tile.cluster / device.facts.multiprocessors;
  const double compute_ms = (std::ceil(waves) * clocks + fill_clocks) / (sustained_clock * device.facts.sm_clock_khz);

  double useful = static_cast<double>(task.problem.out_channels) * static_cast<double>(sizes.batch);
  for (const long long output : sizes.output) useful *= static_cast<double>(output);
  const auto output_bytes = static_cast<double>(element_bytes(task.problem.out_dtype));
  double memory_ms = 1e3 * work(task.problem).byte / (memory_share * device.ceilings.reach_byte_per_s);
  const bool aligned = sizes.output[2] % (32 / static_cast<long long>(output_bytes)) == 0;
  if (useful * output_bytes > kept_bytes) {
    const auto line = static_cast<double>(std::min<long long>(tile.extent[2], sizes.output[2]));
    memory_ms += useful * (line_ms / line + (aligned ? 0 : store.group_ms / 8));
  }
  const double packing =
      task.packed
          ? 0
          : packing_ms + double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs * layout.chunks *
                             static_cast<double>(layout.channel_blocks * task.problem.groups) / packing_byte_per_ms;
  return {.configuration = text(tile),
          .predicted_ms = compute_ms + memory_ms - hidden * std::min(compute_ms, memory_ms) + launch_ms + packing,
          .waves = waves,
          .edge_waste = 1 - useful / (count * outputs)};
}

}  // namespace tapconv
