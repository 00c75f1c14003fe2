#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapconv {

/// `text` with one printable ASCII character for each byte: white space as ' ', other bytes that do not print as '?'.
[[nodiscard]] std::string printable(std::string_view text);

/// The beginning of `text`, printable, short enough for a message.
[[nodiscard]] std::string excerpt(std::string_view text);

/// " (did you mean 'stride'?)" for the candidate most like `word`, or nothing if none is.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tapconv
