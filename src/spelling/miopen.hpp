#pragma once

#include <string_view>

#include "tapconv/problem.hpp"

namespace tapconv {

/// Whether `text` can only be meant as MIOpenDriver's arguments: it begins with the program, or with a convolution
/// driver and a flag.
[[nodiscard]] bool looks_like_miopen(std::string_view text);

/// One problem in MIOpenDriver's language (docs/problem-spellings.md). Valid. Throws SpellingError.
[[nodiscard]] Problem parse_miopen(std::string_view text);

}  // namespace tapconv
