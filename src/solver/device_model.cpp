#include "solver/device_model.hpp"

#include <algorithm>

namespace tapconv {
namespace {

/// Dense TF32 FLOP of a multiprocessor in a clock; 16-bit types do twice as many.
double tensor_flop(const cuda::DeviceFacts& facts) {
  if (facts.compute_major == 9) return 2048;
  if (facts.compute_major == 10) return 4096;
  return facts.compute_major == 8 && facts.compute_minor == 0 ? 1024 : 512;
}

double ffma_flop(const cuda::DeviceFacts& facts) {
  return facts.compute_major == 8 && facts.compute_minor == 0 ? 128 : 256;
}

}  // namespace

DeviceModel device_model(const cuda::DeviceFacts& facts) {
  const auto known = std::ranges::find(known_ceilings(), facts.name, &Ceilings::name);
  if (known != known_ceilings().end()) return {.facts = facts, .ceilings = *known};
  const double clocks = 1e3 * facts.sm_clock_khz * facts.multiprocessors;
  // Two transfers a clock.
  const double bytes = 2 * 1e3 * facts.memory_clock_khz * facts.memory_bus_bits / 8.0;
  return {.facts = facts,
          .ceilings = {.name = facts.name,
                       .limit_byte_per_s = bytes,
                       .reach_byte_per_s = 0.89 * bytes,
                       .limit_ffma_flop_per_s = clocks * ffma_flop(facts),
                       .reach_ffma_flop_per_s = 0.9 * clocks * ffma_flop(facts),
                       .limit_tf32_flop_per_s = clocks * tensor_flop(facts),
                       .reach_tf32_flop_per_s = 0.7 * clocks * tensor_flop(facts),
                       .limit_f16_flop_per_s = 2 * clocks * tensor_flop(facts),
                       .reach_f16_flop_per_s = 1.4 * clocks * tensor_flop(facts),
                       .l2_byte = static_cast<double>(facts.l2_bytes)}};
}

}  // namespace tapconv
