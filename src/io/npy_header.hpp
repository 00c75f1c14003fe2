#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/dtype.hpp"

namespace tapconv::io {

/// Every file of a valid array is longer than this.
inline constexpr std::size_t npy_preamble_bytes = 12;

/// Where the header of a `.npy` file lies.
struct NpyPreamble {
  std::uint64_t header_offset = 0;
  std::uint64_t header_bytes = 0;
};

/// Reads the magic string, the version and the header's length. `file` names the file in errors. Throws Error{usage}.
[[nodiscard]] NpyPreamble parse_npy_preamble(std::span<const std::byte, npy_preamble_bytes> start,
                                             std::string_view file);

/// What the header says of the array.
struct NpyHeader {
  DType dtype = DType::float32;
  bool fortran_order = false;  ///< first axis fastest
  std::vector<std::int64_t> shape;

  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

/// Reads the header, a Python dictionary with exactly the keys 'descr' ('<f2', '<f4' or '<f8'), 'fortran_order' (True
/// or False) and 'shape'. The dimensions are not checked beyond fitting 64 bits. Throws Error{usage} with the byte of
/// the header.
[[nodiscard]] NpyHeader parse_npy_header(std::string_view header, std::string_view file);

/// Everything that precedes the values in a file of format 1.0: a multiple of 64 bytes. The shape is one that
/// checked_count() accepts. Throws Error{usage} for bfloat16, which .npy does not have; `file` names the file.
[[nodiscard]] std::string format_npy_header(const NpyHeader& header, std::string_view file);

}  // namespace tapconv::io
