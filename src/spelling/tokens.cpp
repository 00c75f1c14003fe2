#include "spelling/tokens.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "problem/excerpt.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

constexpr std::string_view white_space = " \t\n\v\f\r";

}  // namespace

std::optional<Token> Tokens::next() {
  const std::size_t start = text_.find_first_not_of(white_space, position_);
  if (start == std::string_view::npos) {
    position_ = text_.size();
    return std::nullopt;
  }
  position_ = std::min(text_.find_first_of(white_space, start), text_.size());
  return Token{text_.substr(start, position_ - start), start};
}

void Tokens::fail_at(std::size_t position, const std::string& message) const {
  throw SpellingError(message, text_, position);
}

std::int64_t Tokens::integer(Token value, std::string_view field, std::int64_t least) const {
  const char* const end = value.text.data() + value.text.size();
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  if (error == std::errc::result_out_of_range && stop == end) {
    fail_at(value.position, fmt::format("{} = {} is too large; valid: at most {}", field, excerpt(value.text),
                                        std::numeric_limits<std::int64_t>::max()));
  }
  if (error != std::errc() || stop != end) {
    fail_at(value.position,
            fmt::format("{} = {} is not a whole number; valid: {} or more", field, excerpt(value.text), least));
  }
  if (number < least) fail_at(value.position, fmt::format("{} = {}; valid: {} or more", field, number, least));
  return number;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t start = text.find_first_not_of(white_space);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(white_space) + 1 - start);
}

std::string_view file_part(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 == 0
}

}  // namespace tapconv
