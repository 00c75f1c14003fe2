#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workbench/diagnosis_region.hpp"

namespace tapconv {

/// An explanation in words.
struct Finding {
  std::string cause;
  std::string sentence;
  std::vector<std::string> also = {};
};

/// What the wrong outputs hold and where they are, if both are simple: each pattern alone says nothing of why. In the
/// order in which they are to be tried.
///
/// Unwritten outputs; where others are wrong too the cause is "unknown".
[[nodiscard]] std::optional<Finding> unwritten_pattern(const Case& result);
/// Wrong outputs that hold what an earlier call left.
[[nodiscard]] std::optional<Finding> stale_pattern(const Case& result);
/// Wrong outputs that are NaN.
[[nodiscard]] std::optional<Finding> nan_pattern(const Case& result);
/// Wrong outputs that hold zero, or what the bias alone makes; or all the same number.
[[nodiscard]] std::optional<Finding> zero_pattern(const Case& result);
/// Wrong outputs that hold anything.
[[nodiscard]] std::optional<Finding> garbage_pattern(const Case& result);

/// Where the wrong outputs are, if that is simple and not everything.
[[nodiscard]] std::optional<Region> wrong_region(const Case& result);

}  // namespace tapconv
