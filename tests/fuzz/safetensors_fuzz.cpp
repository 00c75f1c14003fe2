#include <optional>
#include <string_view>

#include "io/safetensors.hpp"
#include "io/safetensors_header.hpp"
#include "memory_file.hpp"
#include "tapconv/error.hpp"

namespace tapconv::fuzz {
namespace {

/// Whether the tensor can be read; touches all of it.
bool reads(const std::string& path, std::optional<std::string_view> name) {
  try {
    const Tensor tensor = io::read_safetensors(path, name);
    require(tensor.values().size() == static_cast<std::size_t>(tensor.size()));
    return true;
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage);
    return false;
  }
}

std::optional<io::SafetensorsHeader> parse(std::string_view json, std::uint64_t data_bytes) {
  try {
    return io::parse_safetensors_header(json, data_bytes, "fuzz");
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage);
    return std::nullopt;
  }
}

/// Each tensor of a valid header can be read if its type is known and it is not empty.
void expect_readable(const std::string& path, const io::SafetensorsHeader& header) {
  for (const auto& [name, entry] : header) {
    const bool readable = io::safetensors_dtype(entry.dtype) && entry.begin < entry.end;
    require(reads(path, name) == readable);
  }
}

/// What is read back of a header that is written.
void expect_round_trip(const io::SafetensorsHeader& header) {
  for (const auto& [name, entry] : header) {
    const auto dtype = io::safetensors_dtype(entry.dtype);
    if (!dtype || entry.begin == entry.end || name.empty()) continue;
    const std::string start = io::format_safetensors_header(name, *dtype, entry.shape, "fuzz");
    require(start.size() % 8 == 0);
    const auto again = parse(std::string_view(start).substr(8), entry.end - entry.begin);
    require(again && again->size() == 1 && again->contains(name) && again->at(name).shape == entry.shape);
  }
}

}  // namespace
}  // namespace tapconv::fuzz

/// Any bytes are either tensors that their header describes or an error of kind `usage`. The JSON text is also fuzzed
/// without the length before it, which is hard to get right by chance.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tapconv::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto header = parse(text, 24)) expect_round_trip(*header);

  const std::string& path = memory_file(data, size);
  (void)reads(path, std::nullopt);
  if (size < 8) return 0;
  std::uint64_t length = 0;
  for (int i = 8; i-- > 0;) length = length << 8 | data[i];
  if (length > size - 8) return 0;
  const auto header = parse(text.substr(8, length), size - 8 - length);
  if (!header) return 0;
  expect_readable(path, *header);
  expect_round_trip(*header);
  return 0;
}
