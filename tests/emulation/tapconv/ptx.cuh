// Stands before kernels/tapconv/ptx.cuh where kernels are compiled as host code: the instructions that such kernels
// use.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv::ptx {

inline void forget(long long&) {}

// A binary16 is the binary32 whose exponent has another bias, subnormals too.
inline float cvt_f32_f16(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  const float value = magnitude < 0x7c00u ? __builtin_bit_cast(float, magnitude << 13) * 0x1p112f
                                          : __builtin_bit_cast(float, 0x7f800000u | (magnitude & 0x3ffu) << 13);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) | sign);
}

inline unsigned short cvt_rn_f16_f32(float value) {
  if (value != value) return 0x7fff;
  const unsigned bits = __builtin_bit_cast(unsigned, shared::round_to_fp16(value));
  const unsigned sign = bits & 0x80000000u, magnitude = bits ^ sign;
  const float moved = __builtin_bit_cast(float, magnitude) * 0x1p-112f;
  const unsigned half = magnitude == 0x7f800000u ? 0x7c00u : __builtin_bit_cast(unsigned, moved) >> 13;
  return static_cast<unsigned short>(sign >> 16 | half);
}

inline unsigned short cvt_rn_bf16_f32(float value) {
  if (value != value) return 0x7fff;
  return static_cast<unsigned short>(
      __builtin_bit_cast(unsigned, shared::round_operand(value, shared::Rounding::bf16)) >> 16);
}

}  // namespace tapconv::ptx
