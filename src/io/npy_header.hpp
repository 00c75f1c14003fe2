#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Reads the header, a Python dictionary with exactly the keys 'descr' ('<f4'), 'fortran_order' (False) and 'shape'.
/// The dimensions are not checked beyond fitting 64 bits. Throws Error{usage} with the byte of the header.
[[nodiscard]] std::vector<std::int64_t> parse_npy_header(std::string_view header, std::string_view file);

/// Number of values in an array of `shape`: at most 64 dimensions, each at least 1, and a size in bytes that fits 63
/// bits. Throws Error{usage}.
[[nodiscard]] std::int64_t npy_value_count(std::span<const std::int64_t> shape, std::string_view file);

/// Everything that precedes the values in a file of format 1.0: a multiple of 64 bytes. `shape` is one that
/// npy_value_count() accepts.
[[nodiscard]] std::string format_npy_header(std::span<const std::int64_t> shape);

}  // namespace tapconv::io
