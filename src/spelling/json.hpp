#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "spelling/file_place.hpp"

namespace tapconv {

/// One entry of a JSON list of problems.
struct JsonProblem {
  std::string name;        ///< empty if it has none
  std::string text;        ///< the problem in any spelling
  std::int64_t count = 1;  ///< how many layers are this one
  std::size_t offset = 0;  ///< bytes of the content up to its end
};

/// Reads the content at `whole`, a JSON list of problems (docs/problem-spellings.md), entry by entry; no more than one
/// is held in memory. Throws SpellingError that names the place.
void read_problem_json(const FilePlace& whole, const std::function<void(const JsonProblem&)>& on_problem);

}  // namespace tapconv
