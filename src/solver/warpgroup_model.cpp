#include <algorithm>
#include <cmath>

#include "solver/warpgroup_tile.hpp"

namespace tapconv {
namespace {

// Of a multiprocessor, in clocks and bytes. Estimates from the instruction's rates; see docs/kernels.md.
constexpr double shared_byte_per_clock = 128;
constexpr double l2_byte_per_clock = 40;
constexpr double loader_clocks = 75;         // of an item: a stored pixel's 8 channels
constexpr double loader_latency = 900;       // of items that are asked for together
constexpr double barrier_clocks = 60;        // of a stage of weights
constexpr double store_byte_per_clock = 24;  // of outputs, while nothing else is done
constexpr double fill_clocks = 2500;         // of a block's first stages
constexpr double sustained_clock = 0.87;     // of the highest, under load
constexpr double launch_ms = 0.006;

}  // namespace

Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device) {
  const shared::Sizes sizes = sizes_of(task.problem);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape_of(task), tile);
  const auto count = static_cast<double>(warpgroup_tile_count(task, tile, sizes));
  const double products = tile.parts == 2 ? 3 : 1;

  // A 64 x N x 8 instruction takes N / 2 clocks, and what it reads from shared memory.
  const double rows_bytes = 64 * 32, columns_bytes = tile.columns * 32;
  const double instruction = std::max(tile.columns / 2.0, (rows_bytes + columns_bytes) / shared_byte_per_clock);
  const double pair_clocks = 2.0 * tile.segments * tile.channel_blocks * products * instruction;
  const double weight_bytes = double{16} * layout.pair * layout.pairs, input_bytes = double{16} * layout.input_stage;
  const bool resident = tile.weight_stages == layout.chunks * layout.stages && count > 0 &&
                        layout.channel_blocks * task.problem.groups == 1;
  const double tensor = layout.pairs * pair_clocks + (input_bytes + (resident ? 0 : weight_bytes)) / shared_byte_per_clock;
  const double items = double(tile.steps) * layout.pixels;
  const double loading = std::max(items / shared::warpgroup_loaders * loader_clocks,
                                  std::ceil(items / (shared::warpgroup_loaders * (tile.promoted ? 3.0 : 6.0))) *
                                      loader_latency);
  const double l2 = ((resident ? 0 : weight_bytes) + input_bytes / tile.parts) / l2_byte_per_clock;
  const double chunk = std::max({tensor + layout.stages * barrier_clocks, loading, l2});
  const double outputs = double(layout.block_pixels) * layout.block_channels;
  const double tile_clocks =
      layout.chunks * chunk + outputs * static_cast<double>(element_bytes(task.problem.out_dtype)) / store_byte_per_clock;

  const double processors = device.facts.multiprocessors;
  const double clock_khz = sustained_clock * device.facts.sm_clock_khz;
  const double waves = count / processors;
  const double compute_ms = (std::ceil(waves) * tile_clocks + fill_clocks) / clock_khz;
  const double memory_ms = 1e3 * work(task.problem).byte / device.ceilings.reach_byte_per_s;
  double useful = static_cast<double>(task.problem.out_channels) * static_cast<double>(sizes.batch);
  for (const long long output : sizes.output) useful *= static_cast<double>(output);
  return {.configuration = text(tile),
          .predicted_ms = std::max(compute_ms, memory_ms) + launch_ms,
          .waves = waves,
          .edge_waste = 1 - useful / (count * outputs)};
}

}  // namespace tapconv
