#include "solver/direct_tile.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "problem/text.hpp"

namespace tapconv {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Absent axes, the first ones, have no elements apart.
bool divides(std::int64_t vector, const shared::Strides& strides, int rank) {
  return strides.outer % vector == 0 &&
         std::ranges::all_of(std::span(strides.axis).last(static_cast<std::size_t>(rank)),
                             [&](auto stride) { return stride % vector == 0; });
}

/// Elements of 16 bytes at most; four of the 16-bit types, since every one needs a register.
int widest_vector(DType dtype) { return dtype == DType::float64 ? 2 : 4; }

/// Neighbouring channels that can be moved together: neighbours in memory, and every first one aligned.
int channel_vector(DType dtype, std::int64_t channels, const shared::Strides& strides, int rank) {
  const int vector = widest_vector(dtype);
  return strides.inner == 1 && channels % vector == 0 && divides(vector, strides, rank) ? vector : 1;
}

/// Grid positions of the largest class, and all classes.
struct Grids {
  std::int64_t positions, classes;
};

Grids grids(const shared::Shape& shape, const shared::Sizes& sizes) {
  Grids grids{.positions = sizes.batch, .classes = 1};
  for (int i = 0; i < 3; ++i) {
    grids.positions *= shape.transposed ? divide_up(sizes.output[i], shape.axis[i].stride) : sizes.output[i];
    grids.classes *= shared::tap_classes(shape.axis[i], shape.transposed);
  }
  return grids;
}

}  // namespace

int resident_blocks(const Task& task, const DirectTile& tile) {
  const Problem& problem = task.problem;
  const bool dynamic = std::ranges::any_of(problem.dynamic_input, [](bool one) { return one; });
  const bool many_registers = task.wide || task.strided || dynamic || number_type(task) == DType::float64 ||
                              problem.padding_mode != PaddingMode::zeros || problem.kind == Kind::transposed ||
                              direct_vector(task) > 1;
  return (many_registers ? 2 : 3) * 128 / tile.threads;
}

std::vector<DirectTile> direct_tiles(const Task& task) {
  const int most = number_type(task) == DType::float64 ? 32 : 64;
  const std::int64_t channels_of_group = task.problem.out_channels / task.problem.groups;
  std::vector<DirectTile> tiles;
  for (const int channels : {32, 16, 8, 4, 2, 1}) {
    // One tile that overhangs is enough.
    if (channels > 1 && channels / 2 >= channels_of_group) continue;
    for (const int pixels : {8, 4, 2, 1}) {
      if (channels * pixels > most || (channels == 32 && most == 32)) continue;
      if (pixels == 8 && (channels > 1 || task.problem.kind == Kind::transposed))
        continue;  // pointers of eight pixels leave no registers for more
      for (const int threads : {128, 64}) tiles.push_back({.threads = threads, .pixels = pixels, .channels = channels});
    }
  }
  return tiles;
}

std::string text(const DirectTile& tile) {
  return fmt::format("threads={} pixels={} channels={}", tile.threads, tile.pixels, tile.channels);
}

DirectTile parse_direct_tile(const Task& task, std::string_view configuration) {
  std::string valid;
  for (const DirectTile& tile : direct_tiles(task)) {
    if (text(tile) == configuration) return tile;
    valid += (valid.empty() ? "\"" : "\", \"") + text(tile);
  }
  fail(ErrorCode::usage, "configuration of direct = \"{}\"; valid: {}\"", configuration, valid);
}

std::int64_t direct_blocks(const Task& task, const DirectTile& tile, const shared::Sizes& sizes) {
  const Problem& problem = task.problem;
  std::int64_t positions = sizes.batch, classes = 1;
  for (int i = 0; i < problem.rank; ++i) {
    const int axis = max_rank - problem.rank + i;
    if (problem.kind == Kind::transposed) {
      positions *= divide_up(sizes.output[axis], problem.stride[i]);
      classes *= shared::tap_classes(shared_axis(problem, i), true);
    } else {
      positions *= sizes.output[axis];
    }
  }
  return divide_up(positions, std::int64_t{tile.threads} * tile.pixels) * classes * problem.groups *
         divide_up(problem.out_channels / problem.groups, tile.channels);
}

int direct_vector(const Task& task) {
  const shared::Shape shape = shape_of(task);
  return channel_vector(task.input_dtype, shape.in_channels, shape.input, task.problem.rank);
}

int direct_vector_stored(const Task& task, const DirectTile& tile) {
  const shared::Shape shape = shape_of(task);
  const int vector = channel_vector(task.problem.out_dtype, shape.out_channels, shape.output, task.problem.rank);
  return tile.channels % vector == 0 ? vector : 1;
}

Candidate direct_estimate(const Task& task, const DirectTile& tile, const DeviceModel& device) {
  const shared::Shape shape = shape_of(task);
  const shared::Sizes sizes = sizes_of(task.problem);
  const Grids grid = grids(shape, sizes);
  const bool inside = shape.axis[0].inside && shape.axis[1].inside && shape.axis[2].inside;
  const int vector = direct_vector(task);
  const auto channels = static_cast<double>(tile.channels), pixels = static_cast<double>(tile.pixels);

  // Of one (channel, tap) pair of a warp, in instructions: the products, the inputs with their checks and addresses and
  // rounding, the weights' broadcasts, and the loop.
  const double products = channels * pixels * (number_type(task) == DType::float64 ? 2 : 1);
  const double addresses = inside ? 1 : 3;
  const double rounding = task.problem.contract == Contract::tf32 ? 4 : task.input_dtype == DType::float16 ? 1 : 0;
  const double loads = pixels * ((1 + addresses) / vector + rounding);
  const double pair_instructions = products + loads + std::max(1.0, channels / 4) + 1;

  double reduction = static_cast<double>(shape.in_channels);
  for (const shared::Axis& axis : shape.axis)
    reduction *= static_cast<double>(divide_up(axis.kernel, shape.transposed ? axis.tap_step : 1));
  const double setup = 150 + 60 * pixels + 20 * channels * pixels;  // of a thread, beside its products

  const std::int64_t blocks = direct_blocks(task, tile, sizes);
  const std::int64_t processors = device.facts.multiprocessors;
  // Registers: accumulators, coordinates and pointers of each pixel, and what every thread has.
  const double registers = 48 + products + 9 * pixels + channels;
  const double fitting = std::floor(device.facts.registers_per_block / (registers * tile.threads));
  const double resident = std::clamp(fitting, static_cast<double>(resident_blocks(task, tile)), 16.0);
  const double held = static_cast<double>(processors) * resident;
  const double waves = static_cast<double>(blocks) / held;

  // A multiprocessor issues four instructions a clock, each of its schedulers at most one of a warp's; a load's latency
  // is spread over the eight that are in flight.
  const double warps = tile.threads / 32.0;
  const double instructions = setup + reduction * pair_instructions;
  const double alone = setup * 4 + reduction * (pair_instructions + 40.0 / 8);
  const double full_waves = std::floor(waves);
  const auto wave = [&](double blocks_each) { return std::max(alone, instructions * blocks_each * warps / 4); };
  const double tail_blocks = std::ceil((waves - full_waves) * resident);
  const double clocks = full_waves * wave(resident) + (tail_blocks > 0 ? wave(tail_blocks) : 0);
  const double issue_ms = clocks / device.facts.sm_clock_khz;

  // Multiprocessors with fewer units than four instructions a clock could feed.
  const double ffma_ms = 1e3 * work(task.problem).flop / device.ceilings.limit_ffma_flop_per_s;
  const double memory_ms = 1e3 * work(task.problem).byte / device.ceilings.reach_byte_per_s;
  // A warp's inputs that are no neighbours in memory take more of the L1's 128 bytes a clock.
  const double accesses = static_cast<double>(blocks) * tile.threads * pixels * reduction / vector;
  const std::int64_t distance = shape.input.axis[2] * shape.axis[2].stride;
  const double element = static_cast<double>(element_bytes(task.input_dtype));
  const double access_bytes =
      distance == 0 ? 32 : std::clamp(static_cast<double>(distance) * element, element * vector, 32.0);
  const double cache_ms =
      accesses * access_bytes / (128.0 * static_cast<double>(processors)) / device.facts.sm_clock_khz;
  const double launch_ms = 0.002;

  const double useful = static_cast<double>(grid.positions) * static_cast<double>(shape.out_channels);
  const double computed = static_cast<double>(divide_up(grid.positions, std::int64_t{tile.threads} * tile.pixels)) *
                          tile.threads * pixels * channels *
                          static_cast<double>(divide_up(shape.out_channels, tile.channels));
  return {.configuration = text(tile),
          .predicted_ms = std::max({issue_ms, ffma_ms, memory_ms, cache_ms}) + launch_ms,
          .waves = waves,
          .edge_waste = 1 - useful / computed};
}

}  // namespace tapconv
