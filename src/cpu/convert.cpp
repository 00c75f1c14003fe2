// Loops without branches, which the compiler turns into vector code (this file is compiled with -O3).
#include "cpu/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tapconv/shared.cuh"

namespace tapconv::cpu {
namespace {

constexpr std::uint32_t float_infinity = 0x7f800000;

float from_half(std::uint16_t bits) {
  // Moved into place the exponent is too small by 112; multiplying mends it, for subnormals too.
  const float magnitude = std::bit_cast<float>(static_cast<std::uint32_t>(bits & 0x7fff) << 13) * 0x1p112F;
  const std::uint32_t special = (bits & 0x7c00) == 0x7c00 ? float_infinity : 0;
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | special | sign);
}

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  // Signed, since vector units before AVX-512 compare signed numbers alone.
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7fffffff);
  constexpr std::int32_t least_normal = 0x38800000, too_large = 0x47800000;  // 2^-14 and 2^16
  // Below 2^-14 halves are 2^-24 apart, as floats in [0.5, 1) are twice that: the adder rounds.
  const std::int32_t below = magnitude < least_normal ? magnitude : least_normal;
  const std::int32_t small =
      std::bit_cast<std::int32_t>(std::bit_cast<float>(below) + 0.5F) - std::bit_cast<std::int32_t>(0.5F);
  const std::int32_t rebiased = magnitude - (112 << 23);
  const std::int32_t normal = (rebiased + 0xfff + (magnitude >> 13 & 1)) >> 13;
  const std::int32_t finite = magnitude < least_normal ? small : normal;
  const std::int32_t ordered = magnitude < too_large ? finite : 0x7c00;
  const std::int32_t any = magnitude > static_cast<std::int32_t>(float_infinity) ? 0x7e00 : ordered;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(any));
}

float from_brain(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t to_brain(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const bool is_nan = (bits & 0x7fffffff) > float_infinity;
  return static_cast<std::uint16_t>(is_nan ? bits >> 16 | 0x40U : rounded);
}

// Through small aligned arrays, since tensors of 16-bit elements need not be aligned.
constexpr std::int64_t block = 256;

template <float (*decode)(std::uint16_t)>
void decode_all(const void* source, float* target, std::int64_t count) {
  std::uint16_t bits[block];
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    std::memcpy(bits, static_cast<const std::byte*>(source) + 2 * begin, 2 * static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) target[begin + i] = decode(bits[i]);
  }
}

template <std::uint16_t (*encode)(float)>
void encode_all(const float* source, void* target, std::int64_t count) {
  std::uint16_t bits[block];
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t length = std::min(block, count - begin);
    for (std::int64_t i = 0; i < length; ++i) bits[i] = encode(source[begin + i]);
    std::memcpy(static_cast<std::byte*>(target) + 2 * begin, bits, 2 * static_cast<std::size_t>(length));
  }
}

template <shared::Rounding rounding>
void round_all(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = shared::round_operand(values[i], rounding);
}

}  // namespace

void to_float(const void* source, DType dtype, float* target, std::int64_t count) {
  if (dtype == DType::float16) {
    decode_all<from_half>(source, target, count);
  } else if (dtype == DType::bfloat16) {
    decode_all<from_brain>(source, target, count);
  } else {
    std::copy_n(static_cast<const float*>(source), count, target);
  }
}

void from_float(const float* source, DType dtype, void* target, std::int64_t count) {
  if (dtype == DType::float16) {
    encode_all<to_half>(source, target, count);
  } else if (dtype == DType::bfloat16) {
    encode_all<to_brain>(source, target, count);
  } else {
    std::copy_n(source, count, static_cast<float*>(target));
  }
}

void round_floats(float* values, std::int64_t count, OperandRounding rounding) {
  switch (rounding) {
    case OperandRounding::exact:
      return;
    case OperandRounding::tf32_rna:
      return round_all<shared::Rounding::tf32_rna>(values, count);
    case OperandRounding::tf32_rn:
      return round_all<shared::Rounding::tf32_rn>(values, count);
    case OperandRounding::tf32_rz:
      return round_all<shared::Rounding::tf32_rz>(values, count);
    case OperandRounding::bf16:
      return round_all<shared::Rounding::bf16>(values, count);
    case OperandRounding::fp16:
      return round_all<shared::Rounding::fp16>(values, count);
  }
}

std::vector<float> floats_of(std::span<const std::byte> tensor, DType dtype, OperandRounding rounding) {
  std::vector<float> values(tensor.size() / element_bytes(dtype));
  to_float(tensor.data(), dtype, values.data(), static_cast<std::int64_t>(values.size()));
  round_floats(values.data(), static_cast<std::int64_t>(values.size()), rounding);
  return values;
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace tapconv::cpu
