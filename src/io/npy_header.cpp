#include "io/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "problem/text.hpp"

namespace tapconv::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Enough for any shape with room to spare; NumPy writes 118 bytes for most.
constexpr std::uint64_t largest_header_bytes = 65536;

constexpr std::size_t most_dimensions = 64;

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

/// At most 40 bytes of `text`, everything but printable ASCII escaped.
std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 40)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > 40) result += "...";
  return result;
}

std::string tuple_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

/// The part of Python's literal syntax that a header of a plain array uses.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::vector<std::int64_t> parse() {
    expect('{', "the start of a dictionary");
    while (!accept('}')) {
      entry();
      if (accept('}')) break;
      expect(',', "',' or '}' after an entry");
    }
    skip_space();
    if (at_ < text_.size()) refuse("the end of the header after the dictionary");
    require(has_descr_, "descr");
    require(has_order_, "fortran_order");
    require(has_shape_, "shape");
    return shape_;
  }

 private:
  void entry() {
    const std::size_t start = at_;
    const std::string_view key = string("a key in quotes");
    if (key != "descr" && key != "fortran_order" && key != "shape") {
      at_ = start;
      refuse("one of the keys 'descr', 'fortran_order', 'shape'");
    }
    expect(':', "':' after a key");
    if (key == "descr") {
      once(has_descr_, key);
      descr();
    } else if (key == "fortran_order") {
      once(has_order_, key);
      fortran_order();
    } else {
      once(has_shape_, key);
      shape();
    }
  }

  void descr() {
    skip_space();
    if (peek() == '[') {
      fail(ErrorCode::usage, "{}: descr is a structured type, {}; only '<f4' (little-endian float32) is valid", file_,
           printable(text_.substr(at_)));
    }
    const std::string_view found = string("a type in quotes");
    if (found != "<f4") {
      fail(ErrorCode::usage, "{}: descr is '{}'; only '<f4' (little-endian float32) is valid", file_, printable(found));
    }
  }

  void fortran_order() {
    skip_space();
    if (accept_word("False")) return;
    if (accept_word("True")) {
      fail(ErrorCode::usage, "{}: fortran_order is True; only False (C order, last axis fastest) is valid", file_);
    }
    refuse("True or False");
  }

  void shape() {
    expect('(', "a tuple");
    if (accept(')')) return;
    for (;;) {
      shape_.push_back(integer());
      const bool comma = accept(',');
      if (accept(')')) {
        if (shape_.size() == 1 && !comma) fail_shape_without_comma();
        return;
      }
      if (!comma) refuse("',' or ')' after a dimension");
    }
  }

  [[noreturn]] void fail_shape_without_comma() const {
    fail(ErrorCode::usage, "{}: shape is the number ({}), not a tuple; a tuple of one is written ({},)", file_,
         shape_[0], shape_[0]);
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    const std::string_view digits(begin, static_cast<std::size_t>(end - begin));
    if (error == std::errc::invalid_argument) refuse("a dimension");
    if (error == std::errc::result_out_of_range) {
      fail(ErrorCode::usage, "{}: shape has a dimension of {}; at most {} is valid", file_, printable(digits),
           std::numeric_limits<std::int64_t>::max());
    }
    if (digits.size() > 1 && digits[0] == '0') refuse("a dimension without leading zeros");
    at_ += digits.size();
    return value;
  }

  std::string_view string(std::string_view expected) {
    skip_space();
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse(expected);
    const std::size_t begin = at_ + 1;
    const std::size_t end = text_.find_first_of(quote == '"' ? "\"\\\n" : "'\\\n", begin);
    if (end == std::string_view::npos || text_[end] != quote) refuse("a string without escapes, closed on its line");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  void once(bool& seen, std::string_view key) {
    if (seen) fail(ErrorCode::usage, "{}: the header has the key '{}' twice; once is valid", file_, key);
    seen = true;
  }

  void require(bool seen, std::string_view key) const {
    if (!seen) fail(ErrorCode::usage, "{}: the header lacks the key '{}'", file_, key);
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  bool accept_word(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void expect(char c, std::string_view expected) {
    if (!accept(c)) refuse(expected);
  }

  [[noreturn]] void refuse(std::string_view expected) const {
    const std::string found = at_ < text_.size() ? "`" + printable(text_.substr(at_)) + "`" : "the end of the header";
    fail(ErrorCode::usage, "{}: byte {} of the header: expected {}, found {}", file_, at_, expected, found);
  }

  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
  std::vector<std::int64_t> shape_;
};

}  // namespace

NpyPreamble parse_npy_preamble(std::span<const std::byte, npy_preamble_bytes> start, std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with(magic)) {
    fail(ErrorCode::usage, "{}: not a .npy file: it starts with `{}`, not with `{}`", file,
         printable(text.substr(0, magic.size())), printable(magic));
  }
  const int major = std::to_integer<int>(start[6]), minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0) {
    fail(ErrorCode::usage, "{}: .npy format {}.{}; 1.0, 2.0 and 3.0 are valid", file, major, minor);
  }
  const std::uint64_t length_bytes = major == 1 ? 2 : 4;
  const NpyPreamble preamble{8 + length_bytes, little_endian(start.subspan(8, length_bytes))};
  if (preamble.header_bytes > largest_header_bytes) {
    fail(ErrorCode::usage, "{}: the header declares a length of {} bytes; at most {} are valid", file,
         preamble.header_bytes, largest_header_bytes);
  }
  return preamble;
}

std::vector<std::int64_t> parse_npy_header(std::string_view header, std::string_view file) {
  return HeaderParser(header, file).parse();
}

std::int64_t npy_value_count(std::span<const std::int64_t> shape, std::string_view file) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(float));
  if (shape.size() > most_dimensions) {
    fail(ErrorCode::usage, "{}: shape has {} dimensions; at most {} are valid", file, shape.size(), most_dimensions);
  }
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 1) {
      fail(ErrorCode::usage, "{}: shape {} has a dimension of {}; at least 1 is valid", file, tuple_text(shape), size);
    }
    if (size > most / count) {
      fail(ErrorCode::usage, "{}: shape {} has more values than 64 bits can address", file, tuple_text(shape));
    }
    count *= size;
  }
  return count;
}

std::string format_npy_header(std::span<const std::int64_t> shape) {
  constexpr std::size_t prefix_bytes = 10, alignment = 64;
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", tuple_text(shape));
  const std::size_t total = (prefix_bytes + header.size() + alignment) / alignment * alignment;
  header.resize(total - prefix_bytes - 1, ' ');
  header += '\n';
  std::string result(magic);
  result += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return result + header;
}

}  // namespace tapconv::io
