#pragma once

#include <string_view>

#include "cuda/driver.hpp"

namespace tapconv::cuda {

/// What the compiler's output (Compiled::log) says of its one entry: registers, local and static shared memory; the
/// threads are those that `max_threads_per_block` allows and the registers suffice for. Where a device has loaded the
/// kernel its own facts are the same. Throws Error{compile} for an output that does not say it.
[[nodiscard]] KernelFacts facts_of_log(std::string_view log, int max_threads_per_block, int registers_per_block);

}  // namespace tapconv::cuda
