// Numbers in memory and in registers: conversions, and the arithmetic of one kind of accumulator.
#pragma once

#include "tapconv/ptx.cuh"
#include "tapconv/shared.cuh"

namespace tapconv {

struct Half {
  unsigned short bits;
};
struct Bfloat16 {
  unsigned short bits;
};

inline float to_number(float value) { return value; }
inline double to_number(double value) { return value; }
inline float to_number(Half value) { return ptx::cvt_f32_f16(value.bits); }
inline float to_number(Bfloat16 value) { return __uint_as_float((unsigned)value.bits << 16); }

// To nearest, ties to even; NaN stays NaN.
inline void from_number(float value, float& to) { to = value; }
inline void from_number(float value, double& to) { to = value; }
inline void from_number(double value, double& to) { to = value; }
inline void from_number(double value, float& to) { to = float(value); }
inline void from_number(double value, Half& to) { to.bits = ptx::cvt_rn_f16_f32(float(value)); }
inline void from_number(double value, Bfloat16& to) { to.bits = ptx::cvt_rn_bf16_f32(float(value)); }
inline void from_number(float value, Half& to) { to.bits = ptx::cvt_rn_f16_f32(value); }
inline void from_number(float value, Bfloat16& to) { to.bits = ptx::cvt_rn_bf16_f32(value); }

inline float multiply_add(float x, float w, float sum) { return __fmaf_rn(x, w, sum); }
inline double multiply_add(double x, double w, double sum) { return __fma_rn(x, w, sum); }
inline float add(float a, float b) { return __fadd_rn(a, b); }
inline double add(double a, double b) { return __dadd_rn(a, b); }

// cvt.rna.tf32 would be one instruction, but a slow one, and makes infinities of some NaN.
template <shared::Rounding rounding>
inline float round_to(float value) {
  return shared::round_operand(value, rounding);
}
template <shared::Rounding rounding>
inline double round_to(double value) {
  static_assert(rounding == shared::Rounding::exact, "no contract rounds float64");
  return value;
}

// First if `first`, else Second.
template <bool first, class First, class Second>
struct Select {
  using type = First;
};
template <class First, class Second>
struct Select<false, First, Second> {
  using type = Second;
};

// `count` neighbouring elements, moved by one access.
template <class T, int count>
struct __align__(sizeof(T) * count) Vector {
  T at[count];
};

// `count` neighbouring elements, through the read-only cache.
template <int count, class T>
inline Vector<T, count> load(const T* element) {
  using Bits = Vector<T, count>;
  if constexpr (sizeof(Bits) == 2) {
    return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned short*>(element)));
  } else if constexpr (sizeof(Bits) == 4) {
    return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned*>(element)));
  } else if constexpr (sizeof(Bits) == 8) {
    return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const unsigned long long*>(element)));
  } else {
    static_assert(sizeof(Bits) == 16);
    return __builtin_bit_cast(Bits, __ldg(reinterpret_cast<const ulonglong2*>(element)));
  }
}

}  // namespace tapconv
