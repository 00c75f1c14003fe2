#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/dtype.hpp"

namespace tapconv::io {

/// The header follows its length, a little-endian number of this many bytes.
inline constexpr std::uint64_t safetensors_length_bytes = 8;

/// The largest valid header.
inline constexpr std::uint64_t largest_safetensors_header_bytes = 100'000'000;

/// What the header of a `.safetensors` file says of one tensor.
struct SafetensorsEntry {
  std::string dtype;  ///< as written: "F32", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes after the header
};

/// By the tensors' names.
using SafetensorsHeader = std::map<std::string, SafetensorsEntry, std::less<>>;

/// Reads the header: one JSON object of tensors, each with exactly the keys dtype, shape and data_offsets.
/// `__metadata__` is skipped. The tensors cover the `data_bytes` after the header without gap or overlap, and those of
/// a type that safetensors_dtype() knows have as many bytes as shape and dtype say. `file` names the file in errors.
/// Throws Error{usage}.
[[nodiscard]] SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                                         std::string_view file);

/// The type of "F16", "BF16", "F32", "F64"; nothing for others.
[[nodiscard]] std::optional<DType> safetensors_dtype(std::string_view dtype);

/// Everything that precedes the data of a file that holds this tensor alone: a multiple of 8 bytes. The shape is one
/// that checked_count() accepts. Throws Error{usage} for an invalid name; `file` names the file.
[[nodiscard]] std::string format_safetensors_header(std::string_view tensor, DType dtype,
                                                    std::span<const std::int64_t> shape, std::string_view file);

}  // namespace tapconv::io
