#pragma once

#include <CLI/CLI.hpp>
#include <limits>
#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::cli {

/// Options that choose among problems.
struct ProblemFilter {
  std::string text, kind, groups, dtype;  ///< empty: any
  int rank = 0;                           ///< 0: any
  double min_gflop = 0, max_gflop = std::numeric_limits<double>::infinity();

  void add(CLI::App& command);

  /// Whether a problem passes all of them.
  [[nodiscard]] bool keeps(const NamedProblem& problem) const;
};

/// "conv", "transposed" or "depthwise_separable".
[[nodiscard]] std::string kind_name(Kind kind);

}  // namespace tapconv::cli
