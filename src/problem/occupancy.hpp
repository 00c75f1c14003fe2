#pragma once

#include <cstdint>
#include <optional>

namespace tapconv {

/// Warps and blocks that a multiprocessor holds at most.
struct ResidentLimits {
  std::int64_t warps = 0, blocks = 0;
};

/// Of a compute capability, by the CUDA programming guide's table of technical specifications; nothing if it is not
/// there or older than 8.0.
[[nodiscard]] std::optional<ResidentLimits> resident_limits(int major, int minor);

}  // namespace tapconv
