#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapconv {

/// Reads the tokens of an untrusted text from left to right, skipping white space between them. Every failure is a
/// SpellingError at a place in the text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { skip_space(); }

  /// Start of the next token; the text's size at its end.
  [[nodiscard]] std::size_t position() const noexcept { return position_; }
  [[nodiscard]] bool at_end() const noexcept { return position_ == text_.size(); }

  /// Takes the next character if it is `token`.
  bool accept(char token);

  /// Takes `token` or fails; `valid` says in words what may stand here.
  void expect(char token, std::string_view valid);

  /// Takes an identifier; empty if none is next.
  std::string_view identifier();

  /// Takes the name of a problem: letters, digits, '_', '-', '.' and '/'; empty if none is next.
  std::string_view problem_name();

  /// Takes a word, bare or in single or double quotes; empty if none is next.
  std::string_view word();

  /// Takes a whole number with an optional minus sign.
  std::int64_t integer(std::string_view field, std::string_view valid);

  /// Takes a decimal number, rounded to the nearest double.
  double number(std::string_view field, std::string_view valid);

  /// Fails because the next token is not what may stand here.
  [[noreturn]] void unexpected(std::string_view valid) const;
  [[noreturn]] void fail_at(std::size_t position, const std::string& message) const;

  /// What stands at `position` up to a separator, short and printable.
  [[nodiscard]] std::string value_at(std::size_t position) const;

 private:
  /// Fails because no number of the kind that is wanted starts at `start`.
  [[noreturn]] void refuse_number(std::size_t start, std::string_view field, std::string_view kind,
                                  std::string_view valid) const;
  void skip_space();
  std::string_view take(std::size_t size);

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace tapconv
