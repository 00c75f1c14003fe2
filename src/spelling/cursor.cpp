#include "spelling/cursor.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "problem/excerpt.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

// The classification functions of the C library depend on the locale.
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

bool Cursor::accept(char token) {
  if (at_end() || text_[position_] != token) return false;
  take(1);
  return true;
}

void Cursor::expect(char token, std::string_view valid) {
  if (!accept(token)) unexpected(valid);
}

std::string_view Cursor::identifier() {
  if (at_end() || !is_letter(text_[position_])) return {};
  std::size_t end = position_ + 1;
  while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  return take(end - position_);
}

std::string_view Cursor::problem_name() {
  std::size_t end = position_;
  while (end < text_.size() &&
         (is_letter(text_[end]) || is_digit(text_[end]) || std::string_view("-./").find(text_[end]) != text_.npos)) {
    ++end;
  }
  return take(end - position_);
}

std::string_view Cursor::word() {
  if (at_end()) return {};
  const char quote = text_[position_];
  if (quote != '\'' && quote != '"') return identifier();
  const std::size_t end = text_.find(quote, position_ + 1);
  if (end == std::string_view::npos) {
    fail_at(position_, fmt::format("{} opens a word that does not end; valid: a closing {}", quote, quote));
  }
  const std::string_view quoted = take(end + 1 - position_);
  return quoted.substr(1, quoted.size() - 2);
}

std::int64_t Cursor::integer(std::string_view field, std::string_view valid) {
  const std::size_t start = position_;
  std::size_t end = start;
  if (end < text_.size() && text_[end] == '-') ++end;
  const std::size_t first_digit = end;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  if (end == first_digit) refuse_number(start, field, "whole number", valid);
  std::int64_t value = 0;
  const std::string_view digits = text_.substr(start, end - start);
  if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
    using Limits = std::numeric_limits<std::int64_t>;
    fail_at(start, digits[0] == '-'
                       ? fmt::format("{} = {} is too small; valid: at least {}", field, excerpt(digits), Limits::min())
                       : fmt::format("{} = {} is too large; valid: at most {}", field, excerpt(digits), Limits::max()));
  }
  take(digits.size());
  return value;
}

double Cursor::number(std::string_view field, std::string_view valid) {
  const std::size_t start = position_;
  std::size_t end = start;
  while (end < text_.size() && (is_digit(text_[end]) || std::string_view("+-.eE").find(text_[end]) != text_.npos))
    ++end;
  double value = 0;
  const std::string_view digits = text_.substr(start, end - start);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail_at(start,
            fmt::format("{} = {} is out of range; valid: {} that a double can hold", field, excerpt(digits), valid));
  }
  if (error != std::errc() || stop != digits.data() + digits.size()) refuse_number(start, field, "number", valid);
  take(digits.size());
  return value;
}

void Cursor::refuse_number(std::size_t start, std::string_view field, std::string_view kind,
                           std::string_view valid) const {
  const std::string value = value_at(start);
  fail_at(start, value.empty() ? fmt::format("{} is missing a number; valid: {}", field, valid)
                               : fmt::format("{} = {} is not a {}; valid: {}", field, value, kind, valid));
}

void Cursor::unexpected(std::string_view valid) const {
  const std::string found = at_end() ? "end of the text" : fmt::format("'{}'", printable(text_.substr(position_, 1)));
  fail_at(position_, fmt::format("unexpected {}; valid: {}", found, valid));
}

void Cursor::fail_at(std::size_t position, const std::string& message) const {
  throw SpellingError(message, text_, position);
}

std::string Cursor::value_at(std::size_t position) const {
  std::size_t end = position;
  while (end < text_.size() && !is_space(text_[end]) && std::string_view(",()[]@=").find(text_[end]) == text_.npos)
    ++end;
  return excerpt(text_.substr(position, end - position));
}

void Cursor::skip_space() {
  while (!at_end() && is_space(text_[position_])) ++position_;
}

std::string_view Cursor::take(std::size_t size) {
  const std::string_view token = text_.substr(position_, size);
  position_ += size;
  skip_space();
  return token;
}

}  // namespace tapconv
