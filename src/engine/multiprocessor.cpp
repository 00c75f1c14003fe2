#include "engine/device.hpp"
#include "problem/occupancy.hpp"
#include "problem/text.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv {

Multiprocessor multiprocessor(const Device& device) {
  const cuda::DeviceFacts facts = planning_model(device, "occupancy").facts;
  const std::optional<ResidentLimits> limits = resident_limits(facts.compute_major, facts.compute_minor);
  if (!limits)
    fail(ErrorCode::usage, "device = {} has the compute capability {}.{}; valid for occupancy: 8.x to 12.x",
         name(device), facts.compute_major, facts.compute_minor);
  return {.device_name = facts.name,
          .count = facts.multiprocessors,
          .warps = limits->warps,
          .blocks = limits->blocks,
          .registers = facts.registers_per_block,
          .shared_bytes = facts.shared_per_multiprocessor,
          .threads_per_block = facts.max_threads_per_block,
          .shared_bytes_per_block = facts.shared_per_block_opt_in};
}

}  // namespace tapconv
