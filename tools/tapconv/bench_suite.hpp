#pragma once

#include <string>

#include "suite_options.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv::cli {

/// The rules that times were taken by.
[[nodiscard]] Json protocol_json(const BenchRequest& request);

/// Benches the suite, writes what was asked for after every problem (`markdown_file` too, unless it is empty), and
/// returns the exit code. Throws Error.
[[nodiscard]] int run_suite(const SuiteOptions& options, const std::string& markdown_file, BenchRequest request);

}  // namespace tapconv::cli
