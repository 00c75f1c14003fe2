#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t to_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// The definition: the nearest multiple of the target's spacing at `value`, computed in fp64, where it is exact.
double nearest(float value, int significand_bits, int min_exponent, bool ties_away) {
  const int exponent = std::max(std::ilogb(value), min_exponent);
  const double spacing = std::ldexp(1.0, exponent - significand_bits + 1);
  const double quotient = static_cast<double>(value) / spacing;
  const double floor = std::floor(quotient), rest = quotient - floor;
  if (rest != 0.5) return (rest < 0.5 ? floor : floor + 1) * spacing;
  if (ties_away) return (value > 0 ? floor + 1 : floor) * spacing;
  return (std::fmod(floor, 2.0) == 0 ? floor : floor + 1) * spacing;
}

TEST(Rounding, MatchesItsDefinitionOnRandomBits) {
  std::mt19937 random(1);
  for (int i = 0; i < 300000; ++i) {
    // Every third value is made a tie of TF32, which random bits hardly ever are.
    auto bits = static_cast<std::uint32_t>(random());
    if (i % 3 == 0) bits = (bits & ~0x1fffu) | 0x1000u;
    const float value = from_bits(bits);
    if (!std::isfinite(value) || value == 0) continue;
    // Sub-normals of binary32 are sub-normals of TF32 and bf16 too.
    EXPECT_EQ(static_cast<float>(nearest(value, 11, -126, true)), round_operand(value, OperandRounding::tf32_rna))
        << bits;
    EXPECT_EQ(static_cast<float>(nearest(value, 11, -126, false)), round_operand(value, OperandRounding::tf32_rn))
        << bits;
    EXPECT_EQ(static_cast<float>(nearest(value, 8, -126, false)), round_operand(value, OperandRounding::bf16)) << bits;
    const double half = nearest(value, 11, -14, false);
    const float expected = std::abs(half) > 65504 ? std::copysign(INFINITY, value) : static_cast<float>(half);
    EXPECT_EQ(expected, round_operand(value, OperandRounding::fp16)) << bits;
    EXPECT_LE(std::abs(round_operand(value, OperandRounding::tf32_rz)), std::abs(value));
    EXPECT_EQ(0u, to_bits(round_operand(value, OperandRounding::tf32_rz)) & 0x1fffu);
  }
}

TEST(Rounding, EveryBinary16ValueIsItsOwn) {
  // Every multiple of 2^-24 up to 2^-14 and every normal number of one binade.
  for (int i = 0; i < 1024; ++i) {
    EXPECT_EQ(std::ldexp(i, -24), round_operand(static_cast<float>(std::ldexp(i, -24)), OperandRounding::fp16));
    const auto normal = static_cast<float>(1024 + i);
    EXPECT_EQ(normal, round_operand(normal, OperandRounding::fp16));
  }
  EXPECT_EQ(65504.0f, round_operand(65519.0f, OperandRounding::fp16));
  EXPECT_EQ(INFINITY, round_operand(65520.0f, OperandRounding::fp16));
  EXPECT_EQ(-INFINITY, round_operand(-65520.0f, OperandRounding::fp16));
}

TEST(Rounding, KeepsNanInfinityAndZero) {
  for (const OperandRounding rounding : all_operand_roundings) {
    for (const std::uint32_t bits : {0x7fffffffu, 0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff800001u, 0xffc00000u})
      EXPECT_TRUE(std::isnan(round_operand(from_bits(bits), rounding))) << name(rounding) << " " << bits;
    for (const std::uint32_t bits : {0x7f800000u, 0xff800000u, 0u, 0x80000000u})
      EXPECT_EQ(bits, to_bits(round_operand(from_bits(bits), rounding))) << name(rounding) << " " << bits;
  }
}

TEST(Rounding, OverflowsToInfinityWhenNearestIsBeyondTheRange) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(INFINITY, round_operand(largest, OperandRounding::tf32_rna));
  EXPECT_EQ(-INFINITY, round_operand(-largest, OperandRounding::tf32_rn));
  EXPECT_EQ(INFINITY, round_operand(largest, OperandRounding::bf16));
  EXPECT_TRUE(std::isfinite(round_operand(largest, OperandRounding::tf32_rz)));
}

TEST(Rounding, ContractsNameTheirRounding) {
  EXPECT_EQ(OperandRounding::exact, operand_rounding(Contract::ieee, TieRule::even));
  EXPECT_EQ(OperandRounding::exact, operand_rounding(Contract::fp32, TieRule::away));
  EXPECT_EQ(OperandRounding::tf32_rna, operand_rounding(Contract::tf32, TieRule::away));
  EXPECT_EQ(OperandRounding::tf32_rn, operand_rounding(Contract::tf32, TieRule::even));
}

TEST(Bounds, FollowTheirFormulas) {
  EXPECT_DOUBLE_EQ(11 * 0x1p-24 * 3 + 10 * 0x1p-149, error_bound(Contract::ieee, 10, 3));
  EXPECT_DOUBLE_EQ(19 * 0x1p-24 * 3 + 10 * 0x1p-149, error_bound(Contract::fp32, 10, 3));
  EXPECT_EQ(10 * 0x1p-149, error_bound(Contract::fp32, 10, 0)) << "products may underflow";
  EXPECT_DOUBLE_EQ(11 * 0x1p-23 * 3 + 10 * 0x1p-149, error_bound(Contract::tf32, 10, 3));
  for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32})
    EXPECT_EQ(0, error_bound(contract, 0, 0));
}

}  // namespace
}  // namespace tapconv
