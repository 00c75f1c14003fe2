#pragma once

#include <string_view>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The problem of that name in any list: "kb56", "resnet50/conv1". Null if there is none. Reads the lists when it is
/// first asked, once for all threads. Throws Error{internal} for a malformed data file.
[[nodiscard]] const NamedProblem* find_named(std::string_view name);

/// Every name that find_named() knows, in alphabetical order.
[[nodiscard]] std::vector<std::string_view> problem_names();

/// Reads a list from JSON, as docs/problem-lists.md describes it. Throws Error{internal} naming `source` and the
/// problem for one that is malformed.
[[nodiscard]] ProblemList read_list(std::string_view json, std::string_view source);

}  // namespace tapconv
