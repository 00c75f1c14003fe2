#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tapconv {

/// A word of a text, without white space.
struct Token {
  std::string_view text;
  std::size_t position = 0;  ///< of its first byte in the text
};

/// The words of an untrusted command line, from left to right. Every failure is a SpellingError at a place in the text.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  /// Takes the next word; nothing at the end.
  std::optional<Token> next();

  /// The next word, not taken.
  [[nodiscard]] std::optional<Token> peek() const { return Tokens(*this).next(); }

  /// Size of the text: the place of what is missing at its end.
  [[nodiscard]] std::size_t end() const noexcept { return text_.size(); }

  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;

  /// `value` as a whole number of at least `least`, or fails; `field` names it in the message.
  [[nodiscard]] std::int64_t integer(Token value, std::string_view field, std::int64_t least) const;

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

/// `text` without white space at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

/// The last part of a path: "./bin/MIOpenDriver" gives "MIOpenDriver".
[[nodiscard]] std::string_view file_part(std::string_view path);

}  // namespace tapconv
