#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tapconv/numerics.hpp"

namespace tapconv::cpu {

/// `count` elements of `dtype` (not float64) as binary32. Exact; NaN stays NaN. `source` need not be aligned.
void to_float(const void* source, DType dtype, float* target, std::int64_t count);

/// The reverse: rounded to nearest, ties to even; overflow gives an infinity, NaN stays NaN. Subnormals are kept, which
/// the processor's own conversion to bfloat16 would flush.
void from_float(const float* source, DType dtype, void* target, std::int64_t count);

/// Rounds in place as `rounding` says: see round_operand().
void round_floats(float* values, std::int64_t count, OperandRounding rounding);

/// All of a dense tensor as binary32, each rounded.
[[nodiscard]] std::vector<float> floats_of(std::span<const std::byte> tensor, DType dtype, OperandRounding rounding);

/// Whether no value is infinite or NaN.
[[nodiscard]] bool all_finite(std::span<const float> values);

}  // namespace tapconv::cpu
