#pragma once

#include <string_view>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The published problem of that name, or null.
[[nodiscard]] const PublishedProblem* find_published(std::string_view name);

/// The problem that goes by that name, or null.
[[nodiscard]] const NamedProblem* find_named(std::string_view name);

/// Every name that find_named() knows.
[[nodiscard]] std::vector<std::string_view> problem_names();

}  // namespace tapconv
