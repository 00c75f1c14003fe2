#pragma once

#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// A problem that differs from another in one respect.
struct Neighbour {
  std::string change;  ///< "batch 7", "kernel_size[0] 6"
  Problem problem;
};

/// The valid neighbours of a problem, each once, always the same: every size, step and padding one more and one less,
/// one image, one channel a group more and less, odd numbers of channels, other groups, and an output of one position.
/// Ratios of channels that make a problem depthwise stay, so that each is of the problem's kind.
[[nodiscard]] std::vector<Neighbour> neighbours(const Problem& problem);

}  // namespace tapconv
