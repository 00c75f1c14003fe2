#pragma once

#include <string_view>

#include "spelling/tokens.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// Whether `word` begins as a benchdnn descriptor does: a key and a digit.
[[nodiscard]] bool begins_descriptor(std::string_view word);

/// Reads a descriptor (docs/problem-spellings.md has the grammar), a word of `source`: its sizes and its name. All
/// other fields keep their defaults; the problem is not validated yet. Throws SpellingError.
[[nodiscard]] NamedProblem read_descriptor(const Tokens& source, Token descriptor, Kind kind);

}  // namespace tapconv
