#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tapconv {

/// A contiguous float32 tensor on the host, last axis fastest.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  ///< as many as the product of `shape`
};

/// Reads a `.npy` file (format 1.0 to 3.0, little-endian float32, C order). Throws Error{environment} if the file
/// cannot be read, Error{usage} if it is malformed, truncated, has a size of 0, or holds another type or order,
/// Error{memory} if the host cannot hold it.
[[nodiscard]] Tensor read_npy(const std::filesystem::path& path);

/// Writes a `.npy` file, format 1.0, atomically: a reader sees the old file or the whole new one.
/// Throws Error{environment} if that fails, Error{usage} if `shape` has a size below 1 or does not fit `values`.
void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace tapconv
