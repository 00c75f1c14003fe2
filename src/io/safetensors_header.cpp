#include "io/safetensors_header.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "problem/excerpt.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"

namespace tapconv::io {
namespace {

using Json = nlohmann::json;

constexpr std::string_view metadata_key = "__metadata__";

struct SafetensorsType {
  std::string_view spelling;
  DType dtype;
};
constexpr SafetensorsType types[] = {
    {"F16", DType::float16}, {"BF16", DType::bfloat16}, {"F32", DType::float32}, {"F64", DType::float64}};

/// Takes the events of the JSON parser and refuses the first that does not belong where it stands, so that hostile
/// nesting is never followed and nothing but tensors is kept.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  [[nodiscard]] SafetensorsHeader take() { return std::move(header_); }

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override { refuse("the number " + excerpt(text)); }
  bool binary(binary_t&) override { refuse("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ == Place::shape && value <= std::numeric_limits<std::int64_t>::max()) {
      if (entry_.shape.size() == most_dimensions) refuse("one more dimension");
      entry_.shape.push_back(static_cast<std::int64_t>(value));
    } else if (place_ == Place::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    } else {
      refuse(fmt::format("{}", value));
    }
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) return true;
    if (place_ != Place::dtype) refuse(fmt::format("the string '{}'", excerpt(text)));
    entry_.dtype = text;
    place_ = Place::tensor;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::start) {
      place_ = Place::header;
    } else if (place_ == Place::entry) {
      place_ = tensor_ == metadata_key ? Place::metadata : Place::tensor;
    } else {
      refuse("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    if (place_ == Place::metadata) return true;
    if (place_ == Place::header) {
      if (header_.contains(text) || (text == metadata_key && has_metadata_)) {
        fail(ErrorCode::usage, "{}: tensor '{}' is there twice; once is valid", file_, excerpt(text));
      }
      has_metadata_ = has_metadata_ || text == metadata_key;
      tensor_ = text;
      entry_ = {};
      has_dtype_ = has_shape_ = has_offsets_ = false;
      offsets_ = 0;
      place_ = Place::entry;
    } else if (text == "dtype") {
      field(text, has_dtype_, Place::dtype);
    } else if (text == "shape") {
      field(text, has_shape_, Place::before_shape);
    } else if (text == "data_offsets") {
      field(text, has_offsets_, Place::before_offsets);
    } else {
      fail(ErrorCode::usage, "{}: tensor '{}' has the key '{}'; dtype, shape and data_offsets are valid", file_,
           excerpt(tensor_), excerpt(text));
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor) {
      require(has_dtype_, "dtype");
      require(has_shape_, "shape");
      require(has_offsets_, "data_offsets");
      header_.emplace(std::move(tensor_), std::move(entry_));
    }
    place_ = Place::header;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ == Place::before_shape) {
      place_ = Place::shape;
    } else if (place_ == Place::before_offsets) {
      place_ = Place::offsets;
    } else {
      refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    if (place_ == Place::offsets && offsets_ < 2) refuse("the end of the array");
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(ErrorCode::usage, "{}: the header is not valid JSON, or has too large a number, at byte {}", file_, position);
  }

 private:
  /// What comes next: an element of what is named, or the value of a key.
  enum class Place { start, header, entry, tensor, dtype, before_shape, shape, before_offsets, offsets, metadata };

  void field(std::string_view key, bool& seen, Place place) {
    if (seen) fail(ErrorCode::usage, "{}: tensor '{}' has {} twice; once is valid", file_, excerpt(tensor_), key);
    seen = true;
    place_ = place;
  }

  void require(bool seen, std::string_view key) const {
    if (!seen) {
      fail(ErrorCode::usage, "{}: tensor '{}' lacks {}; dtype, shape and data_offsets are needed", file_,
           excerpt(tensor_), key);
    }
  }

  [[noreturn]] void refuse(std::string_view found) const {
    const std::string of_tensor = fmt::format(" of tensor '{}'", excerpt(tensor_));
    switch (place_) {
      case Place::start:
        fail(ErrorCode::usage, "{}: the header is {}; an object of tensors is valid", file_, found);
      case Place::header:
      case Place::entry:
      case Place::tensor:
        fail(ErrorCode::usage, "{}: tensor '{}' is {}; an object with dtype, shape and data_offsets is valid", file_,
             excerpt(tensor_), found);
      case Place::dtype:
        fail(ErrorCode::usage, "{}: dtype{} is {}; a string like \"F32\" is valid", file_, of_tensor, found);
      case Place::before_shape:
      case Place::shape:
        fail(ErrorCode::usage, "{}: shape{} has {}; an array of at most {} whole numbers from 0 to {} is valid", file_,
             of_tensor, found, most_dimensions, std::numeric_limits<std::int64_t>::max());
      case Place::before_offsets:
      case Place::offsets:
        fail(ErrorCode::usage, "{}: data_offsets{} has {}; an array of two whole numbers from 0 on is valid", file_,
             of_tensor, found);
      case Place::metadata:
        fail(ErrorCode::usage, "{}: {} has {}; strings are valid", file_, metadata_key, found);
    }
    fail(ErrorCode::internal, "{}: the header has {} in an unknown place", file_, found);
  }

  std::string_view file_;
  SafetensorsHeader header_;
  Place place_ = Place::start;
  bool has_metadata_ = false;
  // Of the tensor that is being read:
  std::string tensor_;
  SafetensorsEntry entry_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  int offsets_ = 0;
};

/// Bytes of a tensor of this type; a size of 0 is valid here.
std::uint64_t expected_bytes(const SafetensorsEntry& entry, DType dtype, std::string_view subject) {
  if (std::ranges::find(entry.shape, 0) != entry.shape.end()) return 0;
  return static_cast<std::uint64_t>(checked_count(entry.shape, dtype, subject)) * element_bytes(dtype);
}

void check_size(const std::string& tensor, const SafetensorsEntry& entry, std::string_view file) {
  if (entry.begin > entry.end) {
    fail(ErrorCode::usage, "{}: data_offsets of tensor '{}' are [{}, {}]; the first is at most the second", file,
         excerpt(tensor), entry.begin, entry.end);
  }
  const std::optional<DType> dtype = safetensors_dtype(entry.dtype);
  if (!dtype) return;
  const std::uint64_t bytes = expected_bytes(entry, *dtype, fmt::format("{}: tensor '{}'", file, excerpt(tensor)));
  if (bytes != entry.end - entry.begin) {
    fail(ErrorCode::usage, "{}: data_offsets of tensor '{}' span {} bytes; {} are valid for {} of shape {}", file,
         excerpt(tensor), entry.end - entry.begin, bytes, entry.dtype, tuple_text(entry.shape));
  }
}

/// The format allows neither gaps nor overlaps, so that a file has one meaning and carries nothing unseen.
void check_coverage(const SafetensorsHeader& header, std::uint64_t data_bytes, std::string_view file) {
  std::vector<const SafetensorsHeader::value_type*> order;
  for (const auto& item : header) order.push_back(&item);
  std::ranges::sort(order, {}, [](const auto* item) { return std::pair(item->second.begin, item->second.end); });
  std::uint64_t end = 0;
  for (const auto* const item : order) {
    const auto& [tensor, entry] = *item;
    if (entry.end > data_bytes) {
      fail(ErrorCode::usage, "{}: data_offsets of tensor '{}' are [{}, {}]; the file has {} bytes of data", file,
           excerpt(tensor), entry.begin, entry.end, data_bytes);
    }
    if (entry.begin != end) {
      fail(ErrorCode::usage, "{}: data_offsets of tensor '{}' are [{}, {}]; the tensor before it ends at {}", file,
           excerpt(tensor), entry.begin, entry.end, end);
    }
    end = entry.end;
  }
  if (end != data_bytes) {
    fail(ErrorCode::usage, "{}: the file has {} bytes of data, but its tensors end at {}", file, data_bytes, end);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view file) {
  HeaderReader reader(file);
  if (!json.starts_with('{')) {
    fail(ErrorCode::usage, "{}: the header starts with '{}'; {} is valid", file, excerpt(json.substr(0, 8)), "'{'");
  }
  // The parser takes a zero byte for the end and would leave the rest unseen.
  if (const std::size_t zero = json.find('\0'); zero != std::string_view::npos) {
    fail(ErrorCode::usage, "{}: byte {} of the header is 0; no such byte is valid", file, zero);
  }
  (void)Json::sax_parse(json.begin(), json.end(), &reader);
  SafetensorsHeader header = reader.take();
  for (const auto& [tensor, entry] : header) check_size(tensor, entry, file);
  check_coverage(header, data_bytes, file);
  return header;
}

std::optional<DType> safetensors_dtype(std::string_view dtype) {
  const auto* const type = std::ranges::find(types, dtype, &SafetensorsType::spelling);
  if (type == std::end(types)) return std::nullopt;
  return type->dtype;
}

std::string format_safetensors_header(std::string_view tensor, DType dtype, std::span<const std::int64_t> shape,
                                      std::string_view file) {
  if (tensor.empty() || tensor == metadata_key) {
    fail(ErrorCode::usage, "{}: the tensor is called '{}'; any other name is valid", file, tensor);
  }
  std::string spelled;
  try {
    spelled = Json(tensor).dump();
  } catch (const Json::type_error&) {
    fail(ErrorCode::usage, "{}: the tensor is called '{}'; only UTF-8 is valid", file, excerpt(tensor));
  }
  const auto bytes = static_cast<std::uint64_t>(checked_count(shape, dtype, file)) * element_bytes(dtype);
  const auto* const type = std::ranges::find(types, dtype, &SafetensorsType::dtype);
  std::string text = fmt::format(R"({{{}:{{"dtype":"{}","shape":[{}],"data_offsets":[0,{}]}}}})", spelled,
                                 type->spelling, fmt::join(shape, ","), bytes);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (std::uint64_t i = 0; i < safetensors_length_bytes; ++i)
    length += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return length + text;
}

}  // namespace tapconv::io
