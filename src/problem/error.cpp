#include "tapconv/error.hpp"

#include <algorithm>

#include "problem/excerpt.hpp"

namespace tapconv {
namespace {

/// The message, the text around `position`, and the caret, on a line each.
std::string pointed_message(const std::string& message, std::string_view text, std::size_t position) {
  constexpr std::size_t width = 100;
  const std::size_t last_start = text.size() - std::min(text.size(), width);
  const std::size_t start = std::min(position - std::min(position, width / 2), last_start);
  const std::string before = start > 0 ? "..." : "";
  const std::string after = start < last_start ? "..." : "";
  const std::string caret = std::string(before.size() + position - start, ' ') + "^";
  return message + "\n  " + before + printable(text.substr(start, width)) + after + "\n  " + caret;
}

}  // namespace

SpellingError::SpellingError(const std::string& message, std::string_view text, std::size_t position)
    : Error(ErrorCode::usage, pointed_message(message, text, std::min(position, text.size()))),
      position_(std::min(position, text.size())) {}

}  // namespace tapconv
