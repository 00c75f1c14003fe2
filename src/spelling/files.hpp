#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// Reads the content of a file of problems as parse_problems() does: JSON if it begins with '[' or '{', else lines.
/// `file` names it in messages and is where relative includes are looked for. Throws SpellingError, Error{environment}.
[[nodiscard]] std::vector<NamedProblem> parse_problem_file(std::string_view content, const std::string& file);

}  // namespace tapconv
