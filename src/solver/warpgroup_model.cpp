#include <algorithm>
#include <cmath>

#include "solver/warpgroup_tile.hpp"

namespace tapconv {
namespace {

// Of a multiprocessor, in clocks and bytes; fitted to trials of random tiles, see docs/kernels.md.
constexpr double shared_byte_per_clock = 110.5;
constexpr double item_clocks = 159;  // by which a loader's 8 channels of a pixel delay the computing warps
constexpr double copy_clocks = 13;   // of a loader's copy of a channel, which its warp's lanes make together
constexpr double l2_byte_per_clock = 59;
constexpr double fragment_clocks =
    70;  // of what computing threads read and round of a segment's pixels for an instruction
constexpr double first_clocks = 600;    // of a tile's first pixels
constexpr double round_clocks = 1010;   // of a loader's items that are in flight together
constexpr double fetch_clocks = 635;    // of a stage of weights whose ring has one
constexpr double late_clocks = 760;     // of a tile whose ring of inputs has two stages: loads are slow during stores
constexpr double run_clocks = 2;        // of a warp's 32 outputs, in runs along W
constexpr double group_clocks = 12.5;   // in groups of 8
constexpr double row_clocks = 9;        // more, where pixels are rows of the instruction
constexpr double channel_clocks = 428;  // in channels
constexpr double part_clocks = 985;     // of a part that is added to the ones before
constexpr double exchange_byte_per_clock = 8;
constexpr double fill_clocks = 2400;       // of a block's first stages
constexpr double sustained_clock = 0.949;  // of the highest
constexpr double memory_share = 0.974;     // of the bytes that a second's copying moves
constexpr double launch_ms = 0.0049;
// Of outputs beyond what the L2 keeps: what is hidden of the shorter one of computing and memory, and the cost of a run
// of outputs that begins or ends within 32 bytes.
constexpr double kept_bytes = 3e7, hidden = 0.436, run_ms = 0.366e-7;
constexpr double packing_ms = 0.004, packing_byte_per_ms = 4e8;

double store_clocks(const Task& task, const shared::WarpgroupTile& tile) {
  const shared::Shape shape = shape_of(task);
  if (shape.output.inner == 1) return channel_clocks;
  const bool is_run =
      !tile.along_rows && (!shape.transposed || shape.axis[2].stride == shared::interleaved_classes(shape));
  return (is_run ? run_clocks : group_clocks) + (tile.pixels_are_rows ? row_clocks : 0);
}

double ceil_of(double a, double b) { return std::ceil(a / b); }

/// Of a chunk whose inputs loaders round.
double loaded_chunk(const shared::WarpgroupTile& tile, const shared::WarpgroupLayout& layout, double multiplying) {
  const double items = ceil_of(layout.pixels, shared::warpgroup_loaders) * tile.steps;
  const double loading = ceil_of(items, shared::most_loading(tile)) * round_clocks;
  return std::max(multiplying, loading) + items * item_clocks;
}

/// Of a chunk whose inputs are copied, and rounded by the threads that multiply.
double copied_chunk(const shared::Shape& shape, const shared::WarpgroupTile& tile,
                    const shared::WarpgroupLayout& layout, double multiplying) {
  const double rows = ceil_of(layout.pixels, 32 * shared::copied_pixels(shape, tile));
  const double copying = rows * ceil_of(8 * tile.steps, 3) * copy_clocks;
  const double weights =
      shared::is_resident(shape, tile, layout) ? 0 : double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs;
  const double bytes = weights + 32.0 * tile.steps * layout.pixels;
  return std::max({multiplying, copying, bytes / l2_byte_per_clock}) +
         fragment_clocks * layout.pairs * tile.segments * tile.parts;
}

}  // namespace

Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device) {
  const shared::Sizes sizes = sizes_of(task.problem, task.strided);
  const shared::Shape shape = warpgroup_shape(task);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape, tile);
  const auto count = static_cast<double>(warpgroup_tile_count(task, tile, sizes));

  // A 64 x N x 8 instruction takes N / 2 clocks, or those of what it reads from shared memory.
  const int operand_rows = tile.columns + (tile.from_registers ? 0 : shared::warpgroup_rows);
  const double instruction = std::max(tile.columns / 2.0, 32 * operand_rows / shared_byte_per_clock);
  const double products = tile.parts == 2 ? 3 : 1;
  // With few stages of weights, the next one is asked for late.
  const double multiplying = 2.0 * layout.pairs * tile.segments * tile.channel_blocks * products * instruction +
                             layout.stages * fetch_clocks / (tile.weight_stages * tile.weight_stages);

  const double chunk =
      tile.from_registers ? copied_chunk(shape, tile, layout, multiplying) : loaded_chunk(tile, layout, multiplying);

  const double outputs = double(layout.block_pixels) * layout.block_channels;
  // The blocks of a cluster take a part of the chunks and of the outputs each, and read all sums of a share.
  const double exchange =
      tile.cluster > 1 ? layout.exchange_bytes / exchange_byte_per_clock : (tile.splits - 1) * part_clocks;
  const double late = late_clocks / ((tile.input_stages - 1) * (tile.input_stages - 1));
  const double clocks = shared::ceil_divide(layout.chunks, tile.cluster) * chunk + exchange +
                        outputs / (8 * 32) * store_clocks(task, tile) / tile.cluster + late +
                        (tile.from_registers ? first_clocks : 0);
  // Clusters lie within a GPC, whose multiprocessors they do not use up: some eight are left over.
  constexpr int left_over = 8;
  const int usable = device.facts.multiprocessors - (tile.cluster == 1 ? 0 : left_over);
  const int together =
      shared::is_resident(shape, tile, layout) ? static_cast<int>(layout.channel_blocks) : tile.cluster;
  const double waves = count * tile.cluster / (std::max(usable / together, 1) * together);
  const double compute_ms = (std::ceil(waves) * clocks + fill_clocks) / (sustained_clock * device.facts.sm_clock_khz);

  double useful = static_cast<double>(task.problem.out_channels) * static_cast<double>(sizes.batch);
  for (const long long output : sizes.output) useful *= static_cast<double>(output);
  const auto output_bytes = static_cast<double>(element_bytes(task.problem.out_dtype));
  const bool kept = useful * output_bytes <= kept_bytes;
  double memory_ms = 1e3 * work(task.problem).byte / (memory_share * device.ceilings.reach_byte_per_s);
  if (!kept && sizes.output[2] % (32 / static_cast<long long>(output_bytes)) != 0) {
    const long long longest = tile.along_rows && !tile.from_registers ? 8
                              : tile.pixels_are_rows                  ? std::min(tile.extent[2], shared::warpgroup_rows)
                                                                      : tile.extent[2];
    const long long run = std::min<long long>(longest, sizes.output[2]);
    memory_ms += useful / static_cast<double>(run) * run_ms;
  }
  const double packing =
      task.packed
          ? 0
          : packing_ms + double{shared::warpgroup_unit_bytes} * layout.pair * layout.pairs * layout.chunks *
                             static_cast<double>(layout.channel_blocks * task.problem.groups) / packing_byte_per_ms;
  return {.configuration = text(tile),
          .predicted_ms =
              compute_ms + memory_ms - (kept ? 0 : hidden * std::min(compute_ms, memory_ms)) + launch_ms + packing,
          .waves = waves,
          .edge_waste = 1 - useful / (count * outputs)};
}

}  // namespace tapconv
