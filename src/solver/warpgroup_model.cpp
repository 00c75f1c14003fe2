#include "solver/warpgroup_model.hpp"

#include <algorithm>
#include <cmath>

namespace tapconv {
namespace {

double store_clocks(const Task& task, const shared::WarpgroupTile& tile, const WarpgroupCosts& costs) {
  const shared::Shape shape = shape_of(task);
  if (shape.output.inner == 1) return costs.channel_clocks;
  const bool is_run =
      !tile.along_rows && (!shape.transposed || shape.axis[2].stride == shared::interleaved_classes(shape));
  return (is_run ? costs.run_clocks : costs.group_clocks) + (tile.pixels_are_rows ? costs.row_clocks : 0);
}

/// Outputs that follow each other along W and are stored at about the same time.
long long stored_run(const shared::WarpgroupTile& tile) {
  if (tile.along_rows && !tile.from_registers) return 8;
  const int at_once = tile.pixels_are_rows ? shared::warpgroup_rows : shared::warpgroup_staged_columns;
  const int rows = tile.images * tile.extent[0] * tile.extent[1];
  const bool by_both = rows == 1 && !tile.split_channels && tile.segments == 1;  // warpgroups, halves of a row
  return std::min(tile.extent[2], at_once * (by_both ? 2 : 1));
}

double ceil_of(double a, double b) { return std::ceil(a / b); }

/// Of a chunk whose inputs loaders round.
double loaded_chunk(const shared::WarpgroupTile& tile, const shared::WarpgroupLayout& layout, double multiplying,
                    const WarpgroupCosts& costs) {
  const double items = ceil_of(layout.pixels, shared::warpgroup_loaders) * tile.steps;
  const double loading = ceil_of(items, shared::most_loading(tile)) * costs.round_clocks;
  return std::max(multiplying, loading) + items * costs.item_clocks;
}

/// Of a chunk whose inputs are copied, and rounded by the threads that multiply.
double copied_chunk(const shared::Shape& shape, const shared::WarpgroupTile& tile,
                    const shared::WarpgroupLayout& layout, double multiplying, const WarpgroupCosts& costs) {
  const double rows = ceil_of(layout.pixels, 32 * shared::copied_pixels(shape, tile));
  const double copying = rows * ceil_of(8 * tile.steps, 3) * costs.copy_clocks;
  const double weights =
      shared::is_resident(shape, tile, layout) ? 0 : double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs;
  const double bytes = weights + 32.0 * tile.steps * layout.pixels;
  // Of pixels that are apart, two lie in a bank.
  const int conflicts = layout.axis[2].step == 1 ? 1 : 2;
  return std::max({multiplying, copying, bytes / costs.l2_byte_per_clock}) +
         costs.fragment_clocks * layout.pairs * tile.segments * tile.parts * conflicts;
}

}  // namespace

Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device,
                             const WarpgroupCosts& costs) {
  const shared::Sizes sizes = sizes_of(task.problem, task.strided);
  const shared::Shape shape = warpgroup_shape(task);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape, tile);
  const auto count = static_cast<double>(warpgroup_tile_count(task, tile, sizes));

  // A 64 x N x 8 instruction takes N / 2 clocks, or those of what it reads from shared memory.
  const int operand_rows = tile.columns + (tile.from_registers ? 0 : shared::warpgroup_rows);
  const double instruction = std::max(tile.columns / 2.0, 32 * operand_rows / costs.shared_byte_per_clock);
  const double products = tile.parts == 2 ? 3 : 1;
  // With few stages of weights, the next one is asked for late.
  const double multiplying = 2.0 * layout.pairs * tile.segments * tile.channel_blocks * products * instruction +
                             layout.stages * costs.fetch_clocks / (tile.weight_stages * tile.weight_stages);

  const double chunk = tile.from_registers ? copied_chunk(shape, tile, layout, multiplying, costs)
                                           : loaded_chunk(tile, layout, multiplying, costs);

  const double outputs = double(layout.block_pixels) * layout.block_channels;
  // The blocks of a cluster take a part of the chunks and of the outputs each, and read all sums of a share.
  const double exchange =
      tile.cluster > 1 ? layout.exchange_bytes / costs.exchange_byte_per_clock : (tile.splits - 1) * costs.part_clocks;
  const double late = costs.late_clocks / ((tile.input_stages - 1) * (tile.input_stages - 1));
  const double clocks = shared::ceil_divide(layout.chunks, tile.cluster) * chunk + exchange +
                        outputs / (8 * 32) * store_clocks(task, tile, costs) / tile.cluster + late +
                        (tile.from_registers ? costs.first_clocks : 0);
  // Clusters lie within a GPC, whose multiprocessors they do not use up: some eight are left over.
  constexpr int left_over = 8;
  const int usable = device.facts.multiprocessors - (tile.cluster == 1 ? 0 : left_over);
  const int together =
      shared::is_resident(shape, tile, layout) ? static_cast<int>(layout.channel_blocks) : tile.cluster;
  const double waves = count * tile.cluster / (std::max(usable / together, 1) * together);
  const double compute_ms =
      (std::ceil(waves) * clocks + costs.fill_clocks) / (costs.sustained_clock * device.facts.sm_clock_khz);

  // Outputs, and those that a tap reaches.
  double useful = static_cast<double>(task.problem.out_channels) * static_cast<double>(sizes.batch), computed = useful;
  for (const long long output : sizes.output) useful *= static_cast<double>(output);
  for (int axis = 0; axis < task.problem.rank; ++axis) {
    double reached = 0;
    for (const TapAxis& part : lower_axis(task.problem, axis)) reached += static_cast<double>(part.grid);
    computed *= reached;
  }
  const auto output_bytes = static_cast<double>(element_bytes(task.problem.out_dtype));
  const bool kept = useful * output_bytes <= costs.kept_byte;
  const double memory_ms = 1e3 * work(task.problem).byte / (costs.memory_share * device.ceilings.reach_byte_per_s);
  // Stores of less than 32 bytes, but for what the L2 keeps until their neighbours come.
  double partial_ms = 0;
  if (sizes.output[2] % (32 / static_cast<long long>(output_bytes)) != 0) {
    const double written = std::max(useful - costs.kept_byte / output_bytes, 0.0);
    partial_ms = written / static_cast<double>(std::min<long long>(stored_run(tile), sizes.output[2])) * costs.run_ms;
  }
  const double packing = task.packed
                             ? 0
                             : costs.packing_ms + double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs *
                                                      layout.chunks *
                                                      static_cast<double>(layout.channel_blocks * task.problem.groups) /
                                                      costs.packing_byte_per_ms;
  return {.configuration = text(tile),
          .predicted_ms = compute_ms + memory_ms - (kept ? 0 : costs.hidden * std::min(compute_ms, memory_ms)) +
                          partial_ms + costs.launch_ms + packing,
          .waves = waves,
          .edge_waste = 1 - computed / (count * outputs)};
}

}  // namespace tapconv
