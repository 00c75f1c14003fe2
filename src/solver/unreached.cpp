#include <algorithm>

#include "problem/text.hpp"
#include "solver/solver.hpp"

namespace tapconv {
namespace {

/// Whether some residue of the output modulo the stride is met by no tap.
bool may_leave_gaps(const Problem& problem) {
  if (problem.kind != Kind::transposed) return false;
  for (int axis = 0; axis < problem.rank; ++axis) {
    const shared::Axis whole = shared_axis(problem, axis);
    if (shared::tap_classes(whole, true) < whole.stride) return true;
  }
  return false;
}

}  // namespace

std::optional<KernelPlan> unreached_plan(const Task& task, const DeviceModel& device) {
  if (!may_leave_gaps(task.problem)) return std::nullopt;
  constexpr int threads = 256;
  const std::int64_t channels = task.problem.out_channels, full = std::int64_t{device.facts.multiprocessors} * 8;
  return KernelPlan{.source = kernel_source("tapconv_unreached", "tapconv/unreached.cuh", common_configuration(task),
                                            fmt::format("{}", threads), "Arguments",
                                            "tapconv::Unreached<tapconv::Config>::run(arguments);"),
                    .launch =
                        [=](const shared::Sizes& sizes) {
                          const std::int64_t outputs =
                              sizes.batch * channels * sizes.output[0] * sizes.output[1] * sizes.output[2];
                          return cuda::LaunchShape{
                              .grid = {std::clamp<std::int64_t>((outputs + threads - 1) / threads, 1, full), 1, 1},
                              .block = {threads, 1, 1},
                              .dynamic_shared_bytes = 0};
                        },
                    .packing = std::nullopt,
                    .k_order = {}};
}

}  // namespace tapconv
