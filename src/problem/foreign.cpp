#include "problem/foreign.hpp"

#include "tapconv/error.hpp"

namespace tapconv {

bool looks_like_benchdnn(std::string_view) { return false; }

Problem parse_benchdnn(std::string_view text) {
  throw SpellingError("benchdnn's language is not supported in this version", text, 0);
}

bool looks_like_miopen(std::string_view) { return false; }

Problem parse_miopen(std::string_view text) {
  throw SpellingError("MIOpenDriver's language is not supported in this version", text, 0);
}

}  // namespace tapconv
