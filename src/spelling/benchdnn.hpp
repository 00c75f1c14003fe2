#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "spelling/benchdnn_knobs.hpp"
#include "spelling/tokens.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// Whether `text` can only be meant as benchdnn's arguments: it begins with the program, a knob, or a descriptor, or
/// with a driver before one of these.
[[nodiscard]] bool looks_like_benchdnn(std::string_view text);

/// One problem in benchdnn's language: driver, knobs, descriptor (docs/problem-spellings.md). Valid. Throws
/// SpellingError.
[[nodiscard]] Problem parse_benchdnn(std::string_view text);

/// What is found among benchdnn's arguments: a problem (its name empty if it has none), or the value of --batch.
using BenchdnnItem = std::variant<NamedProblem, Token>;

/// Reads up to the next descriptor or --batch; knobs on the way are applied to `knobs`. Nothing at the end of the text.
/// Throws SpellingError.
[[nodiscard]] std::optional<BenchdnnItem> next_benchdnn_item(Tokens& tokens, BenchdnnKnobs& knobs);

}  // namespace tapconv
