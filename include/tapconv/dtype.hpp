#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tapconv {

/// The type of a tensor's elements. 16-bit ones are held as raw bits, little-endian.
enum class DType {
  float32,
  float16,   ///< IEEE binary16
  bfloat16,  ///< the upper half of a binary32
  float64,
};

/// Every type, in declaration order.
inline constexpr DType all_dtypes[] = {DType::float32, DType::float16, DType::bfloat16, DType::float64};

/// PyTorch's name without "torch.": "float32", "float16", "bfloat16", "float64".
[[nodiscard]] std::string_view name(DType dtype) noexcept;

/// Bytes of one element.
[[nodiscard]] std::size_t element_bytes(DType dtype) noexcept;

/// Element `index` of an array of `dtype`. Exact.
[[nodiscard]] double load_element(const void* array, DType dtype, std::int64_t index) noexcept;

/// Stores `value` as element `index`, rounded to nearest, ties to even; overflow gives an infinity, NaN stays NaN.
void store_element(void* array, DType dtype, std::int64_t index, double value) noexcept;

/// `value` as store_element() would round it.
[[nodiscard]] double round_to(double value, DType dtype) noexcept;

/// The largest error of rounding a finite number of magnitude `value` to nearest: half the spacing of the type's
/// numbers there, subnormals included; infinite where the type overflows; 0 for float64 and for a `value` that is not
/// finite.
[[nodiscard]] double half_spacing(double value, DType dtype) noexcept;

}  // namespace tapconv
