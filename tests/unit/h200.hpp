#pragma once

#include "cuda/driver.hpp"

namespace tapconv::testing {

/// What the driver reports of an H200, as far as planning needs it.
inline cuda::DeviceFacts h200() {
  cuda::DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_major = 9;
  facts.multiprocessors = 132;
  facts.max_threads_per_block = 1024;
  facts.shared_per_block = 49152;
  facts.shared_per_block_opt_in = 232448;
  facts.registers_per_block = 65536;
  facts.sm_clock_khz = 1980000;
  facts.memory_clock_khz = 3201000;
  facts.memory_bus_bits = 6016;
  facts.l2_bytes = 62914560;
  facts.shared_per_multiprocessor = 233472;
  facts.max_grid = {2147483647, 65535, 65535};
  return facts;
}

}  // namespace tapconv::testing
