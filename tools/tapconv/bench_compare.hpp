#pragma once

#include <string>

namespace tapconv::cli {

/// Compares two files that bench wrote, prints what it finds, and returns the exit code. Throws Error.
[[nodiscard]] int run_comparison(const std::string& a, const std::string& b, bool force, bool json_wanted);

}  // namespace tapconv::cli
