#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>

#include "random_problem.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A problem that depends on `seed` alone, one to three of whose numbers are extreme: near a power of two, at the ends
/// of 64 bits, any finite double. It need not be valid.
inline Problem extreme_problem(std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  const auto below = [&](std::uint64_t bound) { return generator() % bound; };
  const auto extreme = [&] {
    const auto magnitude = static_cast<std::int64_t>((std::uint64_t{1} << below(63)) - 1 + below(3));
    return below(3) == 0 ? -magnitude : magnitude;
  };
  Problem problem = any_random_problem(seed, 1e6);
  const std::size_t axis = below(problem.rank);
  for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
    std::int64_t* const counts[] = {&problem.batch, &problem.in_channels, &problem.out_channels, &problem.groups,
                                    &problem.depth_multiplier};
    Extent* const extents[] = {&problem.input,      &problem.kernel,     &problem.stride,        &problem.dilation,
                               &problem.padding_lo, &problem.padding_hi, &problem.output_padding};
    const std::size_t field = below(std::size(counts) + std::size(extents) + 1);
    if (field < std::size(counts)) {
      *counts[field] = extreme();
    } else if (field < std::size(counts) + std::size(extents)) {
      (*extents[field - std::size(counts)])[axis] = extreme();
    } else {
      problem.activation = Activation::leaky_relu;
      problem.negative_slope = std::bit_cast<double>(generator());
    }
  }
  // Padding may cancel out.
  if (below(4) == 0) problem.padding_hi[axis] = -problem.padding_lo[axis];
  return problem;
}

}  // namespace tapconv::testing
