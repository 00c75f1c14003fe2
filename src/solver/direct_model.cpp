#include <algorithm>
#include <cmath>

#include "solver/direct_tile.hpp"

namespace tapconv {
namespace {

// Fitted to what bench/candidates.py measured, see docs/kernels.md. Instructions are a warp's.
constexpr double broadcast_instructions = 2.6;   // of 16 bytes of weights from shared memory
constexpr double load_instructions = 0.6;        // of an input that is surely there
constexpr double check_instructions = 1.9;       // of whether it lies inside
constexpr double boundary_instructions = 5.6;    // of where it comes from, if the padding has values
constexpr double tf32_instructions = 1.9;        // of rounding an input
constexpr double conversion_instructions = 6.3;  // of an input of 16 bits
constexpr double row_instructions = 8;           // of finding a row of taps, a pixel
constexpr double channel_instructions = 1.4;     // of going on to another channel, a pixel
constexpr double staging_instructions = 55;      // of an element of the weights
constexpr double setup_instructions = 56;        // of a pixel
constexpr double latency_clocks = 440;           // of inputs that are asked for together
constexpr double staging_clocks = 1470;          // of a chunk of weights
constexpr double issue_share = 0.81;             // of the clocks in which a scheduler finds an instruction to issue
constexpr double sustained_clock = 0.89;         // of the highest, under load
constexpr double cache_passes = 1.2;             // of the L1 for a warp's inputs
constexpr double common_registers = 35, pixel_registers = 6;
constexpr double launch_ms = 0.014;  // of a call on cold caches

double divide_up(double a, double b) { return std::ceil(a / b); }

/// Binary64 fused multiply-adds of a multiprocessor in a clock; devices for graphics have hardly any.
double binary64_units(const cuda::DeviceFacts& facts) {
  if (facts.compute_major == 8 && facts.compute_minor == 0) return 32;
  return facts.compute_minor == 0 && (facts.compute_major == 9 || facts.compute_major == 10) ? 64 : 2;
}

/// Grid positions of the largest class.
double positions(const shared::Shape& shape, const shared::Sizes& sizes) {
  auto count = static_cast<double>(sizes.batch);
  for (int i = 0; i < 3; ++i) {
    const auto output = static_cast<double>(sizes.output[i]);
    count *= shape.transposed ? divide_up(output, static_cast<double>(shape.axis[i].stride)) : output;
  }
  return count;
}

/// What the tile does for each (channel, tap) pair of an output.
struct Loop {
  double taps = 1, row_taps = 1;  ///< of the class that has most
  double pairs = 1;
  double instructions = 0;  ///< of a pair
  double batches = 0;       ///< of inputs that are asked for together, in all

  Loop(const Task& task, const DirectTile& tile, const shared::Shape& shape) {
    for (const shared::Axis& axis : shape.axis) {
      row_taps = static_cast<double>(shape.transposed ? (axis.kernel - 1) / axis.tap_step + 1 : axis.kernel);
      taps *= row_taps;
    }
    const auto in_channels = static_cast<double>(shape.in_channels);
    pairs = in_channels * taps;
    const bool inside = shape.axis[0].inside && shape.axis[1].inside && shape.axis[2].inside;
    const bool is_double = number_type(task) == DType::float64;
    const double vector = direct_vector(task), pixels = tile.pixels, channels = tile.channels;
    const double check = inside                                      ? 0
                         : shape.boundary == shared::Boundary::zeros ? check_instructions
                                                                     : boundary_instructions;
    const double rounding = task.problem.contract == Contract::tf32 ? tf32_instructions
                            : element_bytes(task.input_dtype) == 2  ? conversion_instructions
                                                                    : 0;
    const bool unrolled = shared::direct_unrolls(shape);
    const double moving = unrolled ? channel_instructions / taps : row_instructions / row_taps;
    instructions = channels * pixels * (is_double ? 2 : 1) +
                   broadcast_instructions * std::max(1.0, channels / (is_double ? 2 : 4)) +
                   pixels * ((load_instructions + check + moving) / vector + rounding) +
                   staging_instructions * channels / tile.threads;
    batches = in_channels / vector;
    if (unrolled) {
      for (double together = 8; together > 1; together /= 2) {
        if (together * taps * pixels > 32 || std::fmod(in_channels / vector, together) != 0) continue;
        batches /= together;
        break;
      }
    } else {
      batches *= taps / std::min(row_taps, 8 / vector);
    }
  }
};

}  // namespace

Candidate direct_estimate(const Task& task, const DirectTile& tile, const DeviceModel& device) {
  const shared::Shape shape = shape_of(task);
  const shared::Sizes sizes = sizes_of(task.problem, task.strided);
  const Loop loop(task, tile, shape);
  const double threads = tile.threads, pixels = tile.pixels, channels = tile.channels, warps = threads / 32;
  const double clock_khz = sustained_clock * device.facts.sm_clock_khz;
  const auto blocks = static_cast<double>(direct_blocks(task, tile, sizes));
  const double processors = device.facts.multiprocessors;

  // As many blocks a multiprocessor as have registers.
  const double accumulators = channels * pixels * (number_type(task) == DType::float64 ? 2 : 1);
  const double least_resident = resident_blocks(task, tile);
  const double most_registers = std::min(255.0, device.facts.registers_per_block / (least_resident * threads));
  const double registers =
      std::min(most_registers, common_registers + accumulators + pixel_registers * pixels + channels);
  const double resident =
      std::max(least_resident, std::floor(device.facts.registers_per_block / (registers * threads)));
  const double waves = blocks / (processors * resident);

  // Four schedulers a multiprocessor issue an instruction each; but no warp is faster than its own chain of them, and
  // of the loads that it waits for.
  const double instructions = setup_instructions * pixels + loop.pairs * loop.instructions;
  const double chunks = std::max(1.0, loop.pairs / direct_pairs);
  const double alone = 1.3 * instructions + latency_clocks * loop.batches + staging_clocks * chunks;
  const auto wave = [&](double blocks_each) {
    return blocks_each == 0 ? 0 : std::max(alone, blocks_each * warps * instructions / 4 / issue_share);
  };
  const double full_waves = std::floor(waves);
  const double left = blocks - full_waves * processors * resident;
  const double issue_ms = (full_waves * wave(resident) + wave(divide_up(left, processors))) / clock_khz;

  // A warp's inputs that are no neighbours in memory take more of the L1's 128 bytes a clock.
  const double vector = direct_vector(task);
  const auto element = static_cast<double>(element_bytes(task.input_dtype));
  const auto distance = static_cast<double>(shape.input.axis[2] * shape.axis[2].stride);  // 0: not known
  const double sector = 64;  // what a lane takes that shares nothing: twice the sector's 32 bytes
  const double access_bytes =
      distance == 0 || distance * element >= 32 ? sector : std::max(distance * element, element * vector);
  const double accesses = blocks * threads * pixels * loop.pairs / vector;
  const double cache_ms = cache_passes * accesses * access_bytes / (128 * processors) / clock_khz;

  // Multiprocessors with fewer units than four instructions a clock could feed.
  const double flop = work(task.problem).flop;
  const double units_ms = number_type(task) == DType::float64
                              ? flop / (2 * binary64_units(device.facts) * processors) / clock_khz
                              : 1e3 * flop / device.ceilings.limit_ffma_flop_per_s;
  const double memory_ms = 1e3 * work(task.problem).byte / device.ceilings.reach_byte_per_s;

  const auto out_channels = static_cast<double>(shape.out_channels);
  const double useful = positions(shape, sizes) * out_channels;
  const double computed = divide_up(positions(shape, sizes), threads * pixels) * threads * pixels *
                          divide_up(out_channels, channels) * channels;
  return {.configuration = text(tile),
          .predicted_ms = std::max({issue_ms, units_ms, memory_ms, cache_ms}) + launch_ms,
          .waves = waves,
          .edge_waste = 1 - useful / computed};
}

}  // namespace tapconv
