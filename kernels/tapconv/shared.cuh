// What the host and the device share: plain structs and arithmetic that must be the same on both sides. The only
// kernel header that host code includes. Uses no other header, so that a run-time compile stays short; functions
// carry no __device__, since kernels are compiled with the device as the default execution space.
#pragma once

namespace tapconv::shared {

// One axis of a tap convolution: see TapAxis in src/problem/lowering.hpp.
struct Axis {
  long long input, grid, in_step, taps, first_offset, offset_step, first_tap, tap_step, origin, step;
  bool inside;       // no tap ever leaves the input
  long long kernel;  // size of the filter, of which this tap convolution uses some taps
  long long output;  // size of the output, of which this tap convolution writes some positions
};

// A whole tap convolution; axis[2] is the fastest in memory.
struct Shape {
  long long batch, groups, in_channels, out_channels;  // channels of one group
  Axis axis[3];
  bool bias;

  constexpr long long grid() const { return axis[0].grid * axis[1].grid * axis[2].grid; }
  constexpr long long taps() const { return axis[0].taps * axis[1].taps * axis[2].taps; }
  constexpr long long input() const { return axis[0].input * axis[1].input * axis[2].input; }
  constexpr long long output() const { return axis[0].output * axis[1].output * axis[2].output; }
  constexpr long long kernel() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
};

// The tensors of one convolution, contiguous.
struct Tensors {
  const float* input;
  const float* weight;
  const float* bias;  // null without bias
  float* output;
};

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
  // A NaN must not become an infinity by losing its bits, nor wrap around by a carry.
  if ((__builtin_bit_cast(unsigned, value) & 0x7f800000u) == 0x7f800000u) return value;
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

// Seeded tensors, the same on every device: element i of seed s is a function of (s, i) alone.
enum class Values {
  unit,     // [0, 1), 24 bits
  signed_,  // (-scale, scale)
  ties,     // +-[0.5, 1) * scale, 12 significant bits: every second one is a tie when rounded to TF32
};

struct Recipe {
  unsigned long long seed;
  Values values;
  float scale;  // of signed_ and ties
  float keep;   // the share of elements that is not zero
};

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
constexpr unsigned long long mix(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

constexpr float seeded_value(const Recipe& recipe, long long index) {
  const unsigned long long bits =
      mix(mix(recipe.seed) + (static_cast<unsigned long long>(index) + 1) * 0x9e3779b97f4a7c15ull);
  // The low 24 bits decide whether the element is kept, the high 24 its value.
  if (recipe.keep < 1.0f && static_cast<float>(bits & 0xffffffu) * 0x1p-24f >= recipe.keep) return 0.0f;
  const unsigned value = static_cast<unsigned>(bits >> 40);
  switch (recipe.values) {
    case Values::unit:
      return static_cast<float>(value) * 0x1p-24f;
    case Values::signed_:
      return recipe.scale * (static_cast<float>(value) * 0x1p-23f - 1.0f);
    case Values::ties: {
      const float magnitude = static_cast<float>(2048u + (value >> 13)) * 0x1p-12f * recipe.scale;
      return value & 1u ? -magnitude : magnitude;
    }
  }
  return 0.0f;
}

struct FillArguments {
  float* target;
  long long count;
  Recipe recipe;
};

// One output of the oracle, in fp64 on operands rounded as asked.
struct OracleOutput {
  double value;        // the exact sum, rounded to fp64 step by step
  double magnitude;    // S: the sum of |x*w| plus |bias|, of those that are finite
  long long products;  // K: how many products are not zero
  float sequential;    // the sum as a chain of binary32 fused multiply-adds, channels then taps, bias last
};

struct OracleArguments {
  Tensors tensors;  // `output` unused
  Rounding rounding;
  const long long* outputs;  // linear indices of the outputs wanted
  long long count;
  OracleOutput* results;
};

// Moves a contiguous tensor (outer, channels, inner) to channels-last (outer, inner, channels), or back.
struct TransposeArguments {
  const float* source;
  float* target;
  long long outer, rows, columns;  // target[o][c][r] = source[o][r][c]
};

struct AddBiasArguments {
  float* output;
  const float* bias;
  long long outer, channels, inner;  // output[o][c][i] += bias[c]
};

struct GatherArguments {
  const float* source;
  const long long* indices;
  long long count;
  float* target;
};

struct ChainArguments {
  int repeats;
  float* sink;
};

}  // namespace tapconv::shared
