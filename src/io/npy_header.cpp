#include "io/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>

#include "io/file.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"

namespace tapconv::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

/// Enough for any shape with room to spare; NumPy writes 118 bytes for most.
constexpr std::uint64_t largest_header_bytes = 65536;

/// The types of .npy that are read and written.
struct NpyType {
  std::string_view descr;
  DType dtype;
};
constexpr NpyType npy_types[] = {{"<f2", DType::float16}, {"<f4", DType::float32}, {"<f8", DType::float64}};

constexpr std::string_view valid_types = "'<f2', '<f4' and '<f8' (little-endian float16, float32, float64) are valid";

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

/// The part of Python's literal syntax that a header of a plain array uses.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  NpyHeader parse() {
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
    return header_;
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
      fail(ErrorCode::usage, "{}: descr is a structured type, {}; {}", file_, printable(text_.substr(at_)),
           valid_types);
    }
    const std::string_view found = string("a type in quotes");
    const auto* const type = std::ranges::find(npy_types, found, &NpyType::descr);
    if (type == std::end(npy_types)) {
      fail(ErrorCode::usage, "{}: descr is '{}'; {}", file_, printable(found), valid_types);
    }
    header_.dtype = type->dtype;
  }

  void fortran_order() {
    skip_space();
    header_.fortran_order = accept_word("True");
    if (!header_.fortran_order && !accept_word("False")) refuse("True or False");
  }

  void shape() {
    expect('(', "a tuple");
    if (accept(')')) return;
    for (;;) {
      header_.shape.push_back(integer());
      const bool comma = accept(',');
      if (accept(')')) {
        if (header_.shape.size() == 1 && !comma) fail_shape_without_comma();
        return;
      }
      if (!comma) refuse("',' or ')' after a dimension");
    }
  }

  [[noreturn]] void fail_shape_without_comma() const {
    fail(ErrorCode::usage, "{}: shape is the number ({}), not a tuple; a tuple of one is written ({},)", file_,
         header_.shape[0], header_.shape[0]);
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
  NpyHeader header_;
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

NpyHeader parse_npy_header(std::string_view header, std::string_view file) {
  return HeaderParser(header, file).parse();
}

std::string format_npy_header(const NpyHeader& header, std::string_view file) {
  constexpr std::size_t prefix_bytes = 10, alignment = 64;
  const auto* const type = std::ranges::find(npy_types, header.dtype, &NpyType::dtype);
  if (type == std::end(npy_types)) {
    fail(ErrorCode::usage, "{}: .npy has no type {}; float16, float32 and float64 are valid, or a .safetensors file",
         file, name(header.dtype));
  }
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", type->descr,
                                 header.fortran_order ? "True" : "False", tuple_text(header.shape));
  const std::size_t total = (prefix_bytes + text.size() + alignment) / alignment * alignment;
  text.resize(total - prefix_bytes - 1, ' ');
  text += '\n';
  std::string result(magic);
  result += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return result + text;
}

}  // namespace tapconv::io
