#pragma once

#include <string>

#include "tapconv/workbench.hpp"

namespace tapconv::cli {

/// What `tapconv bench --suite` was asked, as given; empty: not given.
struct SuiteOptions {
  std::string suite, math, shard, batch, out, markdown, commit;
  bool resume = false, json = false;

  /// Throws Error{usage} for an option that needs --suite, if that is not given.
  void expect_suite() const;
};

/// Benches the suite, writes what was asked for after every problem, and returns the exit code. Throws Error.
[[nodiscard]] int run_suite(const SuiteOptions& options, BenchRequest request);

}  // namespace tapconv::cli
