#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/elements.hpp"
#include "io/file.hpp"
#include "io/safetensors_header.hpp"
#include "problem/excerpt.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"
#include "tapconv/error.hpp"

namespace tapconv::io {
namespace {

/// The length of the header, which lies within the file.
std::uint64_t header_bytes(const InputFile& file, const std::string& path) {
  if (file.bytes() < safetensors_length_bytes) {
    fail(ErrorCode::usage, "{}: not a .safetensors file: {} bytes are too few", path, file.bytes());
  }
  std::array<std::byte, safetensors_length_bytes> start;
  file.read(0, start);
  const std::uint64_t length = little_endian(start);
  const std::uint64_t present = file.bytes() - safetensors_length_bytes;
  if (length > present || length > largest_safetensors_header_bytes) {
    fail(ErrorCode::usage, "{}: not a .safetensors file: it declares a header of {} bytes; at most {} are valid", path,
         length, std::min(present, largest_safetensors_header_bytes));
  }
  return length;
}

/// "; it holds 3 tensors: 'a', 'b', 'c'", not more than fit a line.
std::string listing(const SafetensorsHeader& header) {
  constexpr std::size_t most_named = 8;
  std::string text = fmt::format("; it holds {} tensor{}", header.size(), header.size() == 1 ? "" : "s");
  std::size_t named = 0;
  for (const auto& item : header) {
    text += named == 0 ? ": " : ", ";
    if (named++ == most_named) return text + "...";
    text += "'" + excerpt(item.first) + "'";
  }
  return text;
}

const SafetensorsHeader::value_type& chosen(const SafetensorsHeader& header, std::optional<std::string_view> name,
                                            const std::string& path) {
  if (name) {
    const auto found = header.find(*name);
    if (found == header.end()) {
      fail(ErrorCode::usage, "{}: there is no tensor '{}'{}", path, excerpt(*name), listing(header));
    }
    return *found;
  }
  if (header.size() != 1) fail(ErrorCode::usage, "{}: a name is needed, as in {}:name{}", path, path, listing(header));
  return *header.begin();
}

/// The header of a whole file, and where the data begin.
std::pair<SafetensorsHeader, std::uint64_t> read_header(const InputFile& file, const std::string& path) {
  std::string json(header_bytes(file, path), '\0');
  file.read(safetensors_length_bytes, std::as_writable_bytes(std::span(json)));
  const std::uint64_t data_offset = safetensors_length_bytes + json.size();
  return {parse_safetensors_header(json, file.bytes() - data_offset, path), data_offset};
}

/// A file holds one tensor once it is written: those of others must not be lost without a word.
void expect_no_other_tensor(const std::filesystem::path& path, std::string_view name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return;
  const std::string file_name = path.string();
  SafetensorsHeader header;
  try {
    header = read_header(InputFile(path), file_name).first;
  } catch (const Error&) {
    return;  // no file of tensors: written over like any other
  }
  if (header.empty() || (header.size() == 1 && header.begin()->first == name)) return;
  fail(ErrorCode::usage, "{} would be replaced by a file of the tensor '{}' alone{}; valid: another file", file_name,
       excerpt(name), listing(header));
}

}  // namespace

Tensor read_safetensors(const std::filesystem::path& path, std::optional<std::string_view> name) {
  const std::string file_name = path.string();
  const InputFile file(path);
  const auto [header, data_offset] = read_header(file, file_name);

  const auto& [tensor, entry] = chosen(header, name, file_name);
  const std::optional<DType> dtype = safetensors_dtype(entry.dtype);
  if (!dtype) {
    fail(ErrorCode::usage, "{}: dtype of tensor '{}' is '{}'; F16, BF16, F32 and F64 are valid", file_name,
         excerpt(tensor), excerpt(entry.dtype));
  }
  (void)checked_count(entry.shape, *dtype, fmt::format("{}: tensor '{}'", file_name, excerpt(tensor)));
  return elements_in(file, data_offset + entry.begin, {nullptr, *dtype, entry.shape, {}});
}

void write_safetensors(const std::filesystem::path& path, std::string_view name, const TensorView& tensor) {
  const std::string file_name = path.string();
  const TensorView view{tensor.data, tensor.dtype, tensor.shape, checked_strides(tensor, file_name)};
  const std::string header = format_safetensors_header(name, view.dtype, view.shape, file_name);
  expect_no_other_tensor(path, name);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  write_elements(file, view);
  file.commit();
}

}  // namespace tapconv::io
