#pragma once

#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A valid problem of each kind, small enough to count by hand.
inline Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 4;
  problem.out_channels = 6;
  problem.input = {9, 8, 1};
  problem.kernel = {3, 2, 1};
  problem.groups = 2;
  return problem;
}

inline Problem small_transposed() {
  Problem problem = small_problem();
  problem.kind = Kind::transposed;
  problem.stride = {2, 3, 1};
  return problem;
}

inline Problem small_separable() {
  Problem problem = small_problem();
  problem.kind = Kind::depthwise_separable;
  problem.groups = 1;
  problem.depth_multiplier = 3;
  return problem;
}

}  // namespace tapconv::testing
