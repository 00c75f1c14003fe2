#pragma once

#include <string_view>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The published problem of that name, or null.
[[nodiscard]] const PublishedProblem* find_published(std::string_view name);

}  // namespace tapconv
