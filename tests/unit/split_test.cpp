#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tapconv/shared.cuh"

namespace tapconv::shared {
namespace {

bool is_tf32(float value) { return (std::bit_cast<std::uint32_t>(value) & 0x1fffu) == 0; }

/// Two TF32 numbers that add up to `value` as well as two can: the low one carries 11 bits more.
void expect_split(float value) {
  const Split split = split_tf32(value);
  ASSERT_TRUE(is_tf32(split.hi) && is_tf32(split.lo)) << std::hexfloat << value;
  const double rest = static_cast<double>(value) - split.hi - split.lo;
  // Below 2^-126 TF32's spacing stays 2^-136.
  ASSERT_LE(std::abs(rest), std::max(0x1p-22 * std::abs(static_cast<double>(value)), 0x1p-137))
      << std::hexfloat << value;
  ASSERT_LE(std::abs(split.lo), std::max(0x1p-11 * std::abs(static_cast<double>(split.hi)), 0x1p-136));
}

TEST(SplitTf32, IsAsGoodAsTwoNumbersCanBe) {
  std::mt19937 generator(1);
  for (int i = 0; i < 2000000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    if (std::isfinite(split_tf32(value).hi)) expect_split(value);
  }
}

TEST(SplitTf32, IsExactOfNumbersOf22Bits) {
  std::mt19937 generator(2);
  for (int i = 0; i < 1000000; ++i) {
    // 21 bits behind the leading one, exponents where nothing is subnormal.
    const std::uint32_t exponent = 40 + static_cast<std::uint32_t>(generator()) % 200;
    const float value =
        std::bit_cast<float>(exponent << 23 | (static_cast<std::uint32_t>(generator()) & 0x807ffffcu & ~0x7f800000u));
    const Split split = split_tf32(value);
    ASSERT_EQ(static_cast<double>(value), static_cast<double>(split.hi) + split.lo) << std::hexfloat << value;
  }
}

TEST(SplitTf32, TiesGoAwayFromZeroAndComeBackInTheRest) {
  const float tie = 1 + 0x1p-11f;
  EXPECT_EQ(1 + 0x1p-10f, split_tf32(tie).hi);
  EXPECT_EQ(-0x1p-11f, split_tf32(tie).lo);
  EXPECT_EQ(-1 - 0x1p-10f, split_tf32(-tie).hi);
  EXPECT_EQ(0x1p-11f, split_tf32(-tie).lo);
}

TEST(SplitTf32, KeepsEveryNaNAndInfinityAndMakesNoneOfTheRest) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fffffffu, 0x7fc00000u, 0xff800001u, 0xffffffffu, 0xffc00000u}) {
    const Split split = split_tf32(std::bit_cast<float>(bits));
    EXPECT_TRUE(std::isnan(split.hi)) << std::hex << bits;
    EXPECT_EQ(0, split.lo);
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {infinity, -infinity}) {
    EXPECT_EQ(value, split_tf32(value).hi);
    EXPECT_EQ(0, split_tf32(value).lo);
  }
  // The largest floats are nearer to infinity than to a TF32 number; the one below the tie is not.
  for (const std::uint32_t bits : {0x7f7ff000u, 0x7f7ff001u, 0x7f7fffffu, 0xff7ff000u, 0xff7fffffu}) {
    const float value = std::bit_cast<float>(bits);
    const Split split = split_tf32(value);
    EXPECT_TRUE(is_tf32(split.hi) && is_tf32(split.lo));
    EXPECT_EQ(bits & ~0x1fffu, std::bit_cast<std::uint32_t>(split.hi));
    EXPECT_LE(std::abs(static_cast<double>(value) - split.hi - split.lo), std::abs(0x1p-22 * value));
  }
  expect_split(std::bit_cast<float>(0x7f7fefffu));
  EXPECT_TRUE(std::isfinite(split_tf32(std::bit_cast<float>(0x7f7fefffu)).hi));
  for (const float zero : {0.0f, -0.0f}) EXPECT_EQ(std::signbit(zero), std::signbit(split_tf32(zero).hi));
}

}  // namespace
}  // namespace tapconv::shared
