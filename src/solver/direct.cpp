#include "solver/direct.hpp"

#include <algorithm>

#include "problem/text.hpp"
#include "solver/direct_tile.hpp"

namespace tapconv {
namespace {

/// Channels and taps of a group, one after the other; with vectors, the channels of one are the fast index.
std::string k_order(int vector) {
  return vector == 1 ? "channels, taps" : fmt::format("channels by {}, taps, channel of {}", vector, vector);
}

}  // namespace

std::vector<Candidate> DirectSolver::candidates(const Task& task, const DeviceModel& device) const {
  std::vector<Candidate> all;
  for (const DirectTile& tile : direct_tiles(task)) all.push_back(direct_estimate(task, tile, device));
  std::ranges::stable_sort(all, {}, &Candidate::predicted_ms);
  return all;
}

KernelPlan DirectSolver::plan(const Task& task, std::string_view configuration, const DeviceModel& device) const {
  const DirectTile tile = parse_direct_tile(task, configuration);
  const int vector = direct_vector(task), stored = direct_vector_stored(task, tile);
  const std::string members =
      common_configuration(task) +
      fmt::format(
          "  static constexpr DirectTile tile = {{.threads = {}, .pixels = {}, .channels = {}, .pairs = {}, .vector = "
          "{}, .vector_stored = {}, .packed = {}}};\n",
          tile.threads, tile.pixels, tile.channels, direct_pairs, vector, stored, task.packed);
  const auto source = [&](std::string_view entry, std::string_view bounds, std::string_view function) {
    return kernel_source(entry, "tapconv/direct.cuh", members, bounds, "Arguments",
                         fmt::format("tapconv::Direct<tapconv::Config>::{}(arguments);", function));
  };
  KernelPlan plan{
      .source = source("tapconv_direct", fmt::format("{}, {}", tile.threads, resident_blocks(task, tile)), "run"),
      .launch =
          [task, tile, facts = device.facts](const shared::Sizes& sizes) {
            return cuda::LaunchShape{.grid = block_grid(direct_blocks(task, tile, sizes), facts),
                                     .block = {tile.threads, 1, 1},
                                     .dynamic_shared_bytes = 0};
          },
      .input_alignment = vector * static_cast<int>(element_bytes(task.input_dtype)),
      .output_alignment = stored * static_cast<int>(element_bytes(task.problem.out_dtype)),
      .packing = std::nullopt,
      .k_order = k_order(vector)};
  if (!task.packed) return plan;

  constexpr int threads = 256;
  const shared::Shape shape = shape_of(task);
  std::int64_t count =
      shape.groups * ((shape.out_channels + tile.channels - 1) / tile.channels) * tile.channels * shape.in_channels;
  for (const shared::Axis& axis : shape.axis) count *= axis.kernel;
  const std::int64_t full = std::int64_t{device.facts.multiprocessors} * 8;
  plan.packing = {.source = source("tapconv_direct_pack", fmt::format("{}", threads), "pack"),
                  .launch = {.grid = {std::clamp<std::int64_t>((count + threads - 1) / threads, 1, full), 1, 1},
                             .block = {threads, 1, 1},
                             .dynamic_shared_bytes = 0},
                  .bytes = static_cast<std::size_t>(count) * element_bytes(number_type(task)),
                  .layout = fmt::format("blocks of {} output channels", tile.channels)};
  return plan;
}

}  // namespace tapconv
