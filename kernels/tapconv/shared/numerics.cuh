// Rounding of operands, and types of 16 bits: the same arithmetic on the host and the device.
#pragma once

namespace tapconv::shared {

// In the order of tapconv::OperandRounding.
enum class Rounding { exact, tf32_rna, tf32_rn, tf32_rz, bf16, fp16 };

// Drops the low `bits` bits of a finite binary32. A carry out of the significand moves into the exponent, up to
// infinity, as it should.
constexpr float drop_bits(float value, int bits, unsigned increment) {
  const unsigned raw = __builtin_bit_cast(unsigned, value);
  return __builtin_bit_cast(float, (raw + increment) & ~((1u << bits) - 1u));
}

constexpr float drop_bits_to_even(float value, int bits) {
  const unsigned odd = (__builtin_bit_cast(unsigned, value) >> bits) & 1u;
  return drop_bits(value, bits, (1u << (bits - 1)) - 1u + odd);
}

// binary16 has fewer exponent bits too: below 2^-14 its spacing stays 2^-24, which is that of float at 0.75.
constexpr float round_to_fp16(float value) {
  const unsigned sign = __builtin_bit_cast(unsigned, value) & 0x80000000u;
  const float magnitude = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) ^ sign);
  float rounded = magnitude < 0x1p-14f ? (magnitude + 0.75f) - 0.75f : drop_bits_to_even(magnitude, 13);
  if (rounded >= 0x1p16f) rounded = __builtin_bit_cast(float, 0x7f800000u);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, rounded) | sign);
}

// The contract is tapconv::round_operand's.
constexpr float round_operand(float value, Rounding rounding) {
  // A NaN must not become an infinity by losing its bits, nor wrap around by a carry. An infinity stays one below.
  if (value != value) return value;
  switch (rounding) {
    case Rounding::exact:
      return value;
    case Rounding::tf32_rna:
      return drop_bits(value, 13, 0x1000u);
    case Rounding::tf32_rn:
      return drop_bits_to_even(value, 13);
    case Rounding::tf32_rz:
      return drop_bits(value, 13, 0u);
    case Rounding::bf16:
      return drop_bits_to_even(value, 16);
    case Rounding::fp16:
      return round_to_fp16(value);
  }
  return value;
}

// An operand as a sum of two TF32 numbers: hi + lo differs from it by at most 2^-22 of it, and exactly not at all where
// it has at most 22 significant bits. hi is the nearest one, or where that is infinite the one below. Where the operand
// is not finite lo is 0: a product with it must be repaired, since an infinity times 0 is a NaN.
struct Split {
  float hi, lo;
};

constexpr Split split_tf32(float value) {
  constexpr unsigned infinity = 0x7f800000u;
  if ((__builtin_bit_cast(unsigned, value) & infinity) == infinity)
    return {round_operand(value, Rounding::tf32_rna), 0.0f};
  float hi = round_operand(value, Rounding::tf32_rna);
  if ((__builtin_bit_cast(unsigned, hi) & infinity) == infinity) hi = round_operand(value, Rounding::tf32_rz);
  return {hi, round_operand(value - hi, Rounding::tf32_rna)};
}

}  // namespace tapconv::shared
