#include "problem/occupancy.hpp"

#include <algorithm>
#include <limits>

#include "problem/text.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv {
namespace {

// The same on every architecture from 8.0 on; docs/explain.md names the sources.
constexpr std::int64_t warp_threads = 32;
constexpr std::int64_t quarters = 4;  // of a multiprocessor, each with its own registers and warps
constexpr std::int64_t register_unit = 256;
constexpr std::int64_t most_registers = 255;
constexpr std::int64_t shared_unit = 128;
constexpr std::int64_t reserved_shared_bytes = 1024;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }
std::int64_t round_up(std::int64_t a, std::int64_t unit) { return divide_up(a, unit) * unit; }

std::int64_t registers_of_warp(std::int64_t registers) { return round_up(registers * warp_threads, register_unit); }
std::int64_t shared_of_block(std::int64_t bytes) { return round_up(bytes + reserved_shared_bytes, shared_unit); }

std::int64_t blocks_by_registers(const Multiprocessor& processor, std::int64_t registers, std::int64_t warps) {
  const std::int64_t each = registers_of_warp(registers);
  // A launch is refused unless its warps, spread over all quarters, fit.
  if (each * round_up(warps, quarters) > processor.registers) return 0;
  return quarters * (processor.registers / quarters / each) / warps;
}

void expect_possible(const Multiprocessor& processor, const BlockNeeds& needs) {
  const auto expect = [&](const char* field, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value < least || value > most)
      fail(ErrorCode::usage, "{} = {}; valid on {}: {} to {}", field, value, processor.device_name, least, most);
  };
  expect("threads", needs.threads, 1, processor.threads_per_block);
  expect("registers", needs.registers, 1, most_registers);
  expect("shared", needs.shared_bytes, 0, processor.shared_bytes_per_block);
}

Occupancy::OneMore one_more(const Multiprocessor& processor, std::int64_t blocks, std::int64_t warps) {
  std::int64_t registers = most_registers;
  while (registers > 0 && blocks_by_registers(processor, registers, warps) < blocks) --registers;
  const std::int64_t allocated = processor.shared_bytes / blocks / shared_unit * shared_unit;
  return {
      .registers = registers,
      .shared_bytes = std::clamp<std::int64_t>(allocated - reserved_shared_bytes, 0, processor.shared_bytes_per_block)};
}

}  // namespace

std::optional<ResidentLimits> resident_limits(int major, int minor) {
  switch (major) {
    case 8:
      if (minor == 0) return ResidentLimits{.warps = 64, .blocks = 32};
      return ResidentLimits{.warps = 48, .blocks = minor == 9 ? 24 : 16};
    case 9:
      return ResidentLimits{.warps = 64, .blocks = 32};
    case 10:
      if (minor == 1) return ResidentLimits{.warps = 48, .blocks = 24};
      return ResidentLimits{.warps = 64, .blocks = 32};
    case 11:
    case 12:
      return ResidentLimits{.warps = 48, .blocks = 24};
    default:
      return std::nullopt;
  }
}

std::string_view name(Resource resource) noexcept {
  switch (resource) {
    case Resource::warps:
      return "warps";
    case Resource::blocks:
      return "blocks";
    case Resource::registers:
      return "registers";
    case Resource::shared_memory:
      return "shared memory";
  }
  return "?";
}

Occupancy occupancy(const Multiprocessor& multiprocessor, const BlockNeeds& needs) {
  expect_possible(multiprocessor, needs);
  const std::int64_t warps = divide_up(needs.threads, warp_threads);
  Occupancy result;
  result.by_warps = multiprocessor.warps / warps;
  result.by_blocks = multiprocessor.blocks;
  result.by_registers = blocks_by_registers(multiprocessor, needs.registers, warps);
  result.shared_bytes = shared_of_block(needs.shared_bytes);
  result.by_shared_memory = multiprocessor.shared_bytes / result.shared_bytes;
  result.registers_per_warp = registers_of_warp(needs.registers);
  result.blocks = std::min({result.by_warps, result.by_blocks, result.by_registers, result.by_shared_memory});
  result.warps = result.blocks * warps;
  result.share = static_cast<double>(result.warps) / static_cast<double>(multiprocessor.warps);
  for (const auto& [resource, allowed] :
       {std::pair{Resource::warps, result.by_warps}, std::pair{Resource::blocks, result.by_blocks},
        std::pair{Resource::registers, result.by_registers},
        std::pair{Resource::shared_memory, result.by_shared_memory}}) {
    if (allowed == result.blocks) result.limited_by.push_back(resource);
  }
  if (result.blocks < std::min(result.by_warps, result.by_blocks))
    result.one_more = one_more(multiprocessor, result.blocks + 1, warps);
  return result;
}

}  // namespace tapconv
