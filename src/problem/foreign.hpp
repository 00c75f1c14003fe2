#pragma once

#include <string_view>

#include "tapconv/problem.hpp"

namespace tapconv {

/// Whether `text` can only be meant as benchdnn's arguments.
[[nodiscard]] bool looks_like_benchdnn(std::string_view text);

/// One problem in benchdnn's language: driver, knobs, descriptor. Valid. Throws SpellingError.
[[nodiscard]] Problem parse_benchdnn(std::string_view text);

/// Whether `text` can only be meant as MIOpenDriver's arguments.
[[nodiscard]] bool looks_like_miopen(std::string_view text);

/// One problem in MIOpenDriver's language. Valid. Throws SpellingError.
[[nodiscard]] Problem parse_miopen(std::string_view text);

}  // namespace tapconv
