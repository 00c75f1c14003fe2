#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/tensor.hpp"

namespace tapconv {

/// The most axes of a tensor, as in NumPy.
inline constexpr std::size_t most_dimensions = 64;

/// "(2, 3)", "(2,)" or "()", as Python writes a tuple.
[[nodiscard]] std::string tuple_text(std::span<const std::int64_t> shape);

/// Number of elements of a tensor of `shape`: at most most_dimensions, each at least 1, and a size in bytes that fits
/// 63 bits. Throws Error{usage}; the message starts with `subject`.
[[nodiscard]] std::int64_t checked_count(std::span<const std::int64_t> shape, DType dtype, std::string_view subject);

/// The strides of `view`, written out where the view leaves them out. Throws Error{usage} as checked_count() does, and
/// if the view has no data, another number of strides than of sizes, or elements further apart than 63 bits of bytes.
[[nodiscard]] std::vector<std::int64_t> checked_strides(const TensorView& view, std::string_view subject);

}  // namespace tapconv
