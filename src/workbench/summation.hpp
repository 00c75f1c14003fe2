#pragma once

#include <span>

#include "tapconv/fingerprint.hpp"

namespace tapconv {

/// How the binary32 sums `result` were added: `exact` are the fp64 sums over the operands as they were rounded, `chain`
/// those of a chain of fused multiply-adds. All finite, of the same outputs.
[[nodiscard]] Summation summation_of(std::span<const double> result, std::span<const double> exact,
                                     std::span<const double> chain);

}  // namespace tapconv
