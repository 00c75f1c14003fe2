#include "tapconv/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include "special_numbers.hpp"

namespace tapconv {
namespace {

using testing::infinity;
using testing::nan;

double decoded(std::uint16_t bits, DType dtype) { return load_element(&bits, dtype, 0); }

std::uint16_t encoded(double value, DType dtype) {
  std::uint16_t bits = 0;
  store_element(&bits, dtype, 0, value);
  return bits;
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

/// The definition of IEEE 754, by arithmetic.
double defined(int bits, int fraction_bits, int exponent_bits) {
  const int field = (bits & 0x7fff) >> fraction_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const double fraction = std::ldexp(bits & ((1 << fraction_bits) - 1), -fraction_bits);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (field == (1 << exponent_bits) - 1) return fraction == 0 ? sign * infinity : nan;
  return sign * (field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias));
}

TEST(DType, HasNamesAndSizes) {
  EXPECT_EQ(name(DType::float32), "float32");
  EXPECT_EQ(name(DType::float16), "float16");
  EXPECT_EQ(name(DType::bfloat16), "bfloat16");
  EXPECT_EQ(name(DType::float64), "float64");
  EXPECT_EQ(element_bytes(DType::float32), 4u);
  EXPECT_EQ(element_bytes(DType::float16), 2u);
  EXPECT_EQ(element_bytes(DType::bfloat16), 2u);
  EXPECT_EQ(element_bytes(DType::float64), 8u);
}

TEST(DType, EveryPatternOf16BitsIsWhatTheStandardSays) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    for (const auto& [dtype, fraction, exponent] :
         {std::tuple(DType::float16, 10, 5), std::tuple(DType::bfloat16, 7, 8)}) {
      const double value = decoded(static_cast<std::uint16_t>(bits), dtype);
      const double expected = defined(bits, fraction, exponent);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(value)) << bits;
      } else {
        ASSERT_TRUE(same_bits(value, expected)) << bits;
      }
    }
  }
}

TEST(DType, EveryPatternOf16BitsReturns) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    for (int bits = 0; bits < 0x10000; ++bits) {
      const double value = decoded(static_cast<std::uint16_t>(bits), dtype);
      ASSERT_EQ(encoded(value, dtype), bits) << name(dtype);
      ASSERT_TRUE(std::isnan(value) || same_bits(round_to(value, dtype), value));
    }
  }
}

/// Between any two neighbours: the middle goes to the even one, the doubles beside the middle to the nearer one.
TEST(DType, TiesGoToEvenBetweenAllNeighbours) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const int largest = dtype == DType::float16 ? 0x7bff : 0x7f7f;
    for (int bits = 0; bits < largest; ++bits) {
      const double below = decoded(static_cast<std::uint16_t>(bits), dtype);
      const double above = decoded(static_cast<std::uint16_t>(bits + 1), dtype);
      const double middle = below + (above - below) / 2;
      ASSERT_EQ(encoded(middle, dtype), bits + (bits & 1));
      ASSERT_EQ(encoded(std::nextafter(middle, 0), dtype), bits);
      ASSERT_EQ(encoded(std::nextafter(middle, infinity), dtype), bits + 1);
      ASSERT_EQ(encoded(-middle, dtype), 0x8000 + bits + (bits & 1));
      ASSERT_EQ(half_spacing(middle, dtype), middle - below);
    }
  }
}

TEST(DType, OverflowsToInfinityFromHalfASpacingBeyondTheLargest) {
  const std::tuple<DType, double, double> cases[] = {
      {DType::float16, 65504, 65520},
      {DType::bfloat16, 0x1.fep127, 0x1.ffp127},
      {DType::float32, 0x1.fffffep127, 0x1.ffffffp127},
  };
  for (const auto& [dtype, largest, limit] : cases) {
    for (const double sign : {1.0, -1.0}) {
      const double below = std::nextafter(limit, 0);
      EXPECT_EQ(round_to(sign * below, dtype), sign * largest) << name(dtype);
      EXPECT_EQ(half_spacing(sign * below, dtype), limit - largest);
      for (const double beyond : {limit, 1e300, std::numeric_limits<double>::max()}) {
        EXPECT_EQ(round_to(sign * beyond, dtype), sign * infinity) << name(dtype);
        EXPECT_EQ(half_spacing(sign * beyond, dtype), infinity);
      }
      EXPECT_EQ(round_to(sign * infinity, dtype), sign * infinity);
    }
  }
}

TEST(DType, RoundsOnce) {
  // By way of float32 the first two would become ties and go to 1; the third would lose its last bit and go to 0.
  EXPECT_EQ(round_to(1 + 0x1p-11 + 0x1p-40, DType::float16), 1 + 0x1p-10);
  EXPECT_EQ(round_to(1 + 0x1p-8 + 0x1p-40, DType::bfloat16), 1 + 0x1p-7);
  EXPECT_EQ(round_to(0x1p-25 + 0x1p-70, DType::float16), 0x1p-24);
  EXPECT_EQ(round_to(1 + 3 * 0x1p-11 - 0x1p-40, DType::float16), 1 + 0x1p-10);
}

TEST(DType, RoundsSubnormals) {
  EXPECT_EQ(encoded(0x1p-24, DType::float16), 0x0001);
  EXPECT_EQ(encoded(0x1p-25, DType::float16), 0x0000);
  EXPECT_EQ(encoded(-0x1p-25, DType::float16), 0x8000);
  EXPECT_EQ(encoded(0x1.8p-24, DType::float16), 0x0002);
  EXPECT_EQ(encoded(0x1.ffep-15, DType::float16), 0x0400) << "the middle below the least normal number";
  EXPECT_EQ(encoded(0x1p-133, DType::bfloat16), 0x0001);
  EXPECT_EQ(encoded(0x1p-134, DType::bfloat16), 0x0000);
  EXPECT_EQ(encoded(-0x1p-1074, DType::bfloat16), 0x8000);
  EXPECT_EQ(round_to(0x1p-150, DType::float32), 0);
  EXPECT_EQ(round_to(0x1.8p-150, DType::float32), 0x1p-149);
}

TEST(DType, KeepsNaNs) {
  const double odd_nans[] = {nan, -nan, std::bit_cast<double>(std::uint64_t{0x7ff0000000000001}),
                             std::bit_cast<double>(~std::uint64_t{0})};
  for (const DType dtype : all_dtypes) {
    for (const double value : odd_nans) EXPECT_TRUE(std::isnan(round_to(value, dtype))) << name(dtype);
    EXPECT_EQ(half_spacing(nan, dtype), 0);
    EXPECT_EQ(half_spacing(-infinity, dtype), 0);
  }
}

TEST(DType, HalfSpacingIsTheLargestErrorOfRounding) {
  EXPECT_EQ(half_spacing(1, DType::float32), 0x1p-24);
  EXPECT_EQ(half_spacing(-1.5, DType::float16), 0x1p-11);
  EXPECT_EQ(half_spacing(2, DType::bfloat16), 0x1p-7);
  EXPECT_EQ(half_spacing(0, DType::float32), 0x1p-150);
  EXPECT_EQ(half_spacing(0x1p-1074, DType::float16), 0x1p-25);
  EXPECT_EQ(half_spacing(0x1p-130, DType::bfloat16), 0x1p-134);
  EXPECT_EQ(half_spacing(1e300, DType::float64), 0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 300) - 214);
    for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      const double rounded = round_to(value, dtype);
      if (std::isinf(rounded)) continue;
      ASSERT_LE(std::abs(rounded - value), half_spacing(value, dtype)) << value << " as " << name(dtype);
    }
  }
}

TEST(DType, FindsElementsByIndexEvenUnaligned) {
  for (const DType dtype : all_dtypes) {
    std::array<unsigned char, 80> memory{};
    unsigned char* const array = memory.data() + 1 + 3 * element_bytes(dtype);
    for (int i = -3; i < 4; ++i) store_element(array, dtype, i, 1.5 * i);
    for (int i = -3; i < 4; ++i) EXPECT_EQ(load_element(array, dtype, i), 1.5 * i) << name(dtype);
    EXPECT_EQ(memory.front(), 0) << "before the first element";
    EXPECT_TRUE(std::all_of(memory.begin() + 1 + 7 * static_cast<std::ptrdiff_t>(element_bytes(dtype)), memory.end(),
                            [](unsigned char byte) { return byte == 0; }))
        << "beyond the last element";
  }
}

}  // namespace
}  // namespace tapconv
