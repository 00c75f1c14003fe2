#pragma once

#include <cstdint>

#include "tapconv/problem.hpp"

namespace tapconv {

/// How many products an output of a plain problem (see stages()) sums, those with padding zeros left out.
struct ProductCounts {
  std::int64_t least = 0, most = 0;
  double mean = 0;
};

/// Exact but for the rounding of the mean, in a time that grows with the filter or the padding, whichever is smaller,
/// and not with the input.
[[nodiscard]] ProductCounts product_counts(const Problem& problem);

}  // namespace tapconv
