#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tapconv/shared.cuh"

namespace tapconv {
namespace {

using shared::Recipe;
using shared::seeded_value;
using shared::Values;

TEST(Seeded, AreAFunctionOfSeedAndIndex) {
  const Recipe recipe{.seed = 1, .values = Values::unit, .scale = 1, .keep = 1};
  Recipe other = recipe;
  other.seed = 2;
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(seeded_value(recipe, i), seeded_value(recipe, i));
    same += seeded_value(recipe, i) == seeded_value(other, i);
  }
  EXPECT_LT(same, 3);
  // Frozen: results files name seeds.
  EXPECT_EQ(seeded_value(recipe, 0), 0x1.7fdfp-1f) << std::hexfloat << seeded_value(recipe, 0);
}

TEST(Seeded, UnitAndSignedAreUniform) {
  const Recipe unit{.seed = 7, .values = Values::unit, .scale = 1, .keep = 1};
  const Recipe signed_values{.seed = 7, .values = Values::signed_, .scale = 0.5f, .keep = 1};
  double sum = 0, squares = 0, signed_sum = 0;
  constexpr int count = 100000;
  for (int i = 0; i < count; ++i) {
    const double value = seeded_value(unit, i), other = seeded_value(signed_values, i);
    EXPECT_TRUE(value >= 0 && value < 1);
    EXPECT_TRUE(std::abs(other) <= 0.5);
    sum += value;
    squares += value * value;
    signed_sum += other;
  }
  EXPECT_NEAR(0.5, sum / count, 0.005);
  EXPECT_NEAR(1.0 / 3, squares / count, 0.005);
  EXPECT_NEAR(0, signed_sum / count, 0.005);
}

TEST(Seeded, KeepDecidesTheShareOfNonZeros) {
  const Recipe sparse{.seed = 7, .values = Values::signed_, .scale = 1, .keep = 0.25f};
  int kept = 0;
  for (int i = 0; i < 100000; ++i) kept += seeded_value(sparse, i) != 0;
  EXPECT_NEAR(25000, kept, 500);
}

TEST(Seeded, HalfOfTheTiesAreTies) {
  const Recipe recipe{.seed = 9, .values = Values::ties, .scale = 0x1p-16f, .keep = 1};
  int ties = 0, negative = 0;
  for (int i = 0; i < 100000; ++i) {
    const float value = seeded_value(recipe, i);
    const unsigned bits = __builtin_bit_cast(unsigned, value);
    EXPECT_EQ(0u, bits & 0xfffu) << "more than 12 significant bits";
    EXPECT_TRUE(std::abs(value) >= 0x1p-17f && std::abs(value) < 0x1p-16f);
    ties += (bits & 0x1fffu) == 0x1000u;
    negative += value < 0;
  }
  EXPECT_NEAR(50000, ties, 800);
  EXPECT_NEAR(50000, negative, 800);
}

}  // namespace
}  // namespace tapconv
