#include "cpu/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace tapconv {
namespace {

constexpr DType narrow_types[] = {DType::float16, DType::bfloat16};

/// Equal, or both NaN.
bool same(double a, double b) { return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b); }

TEST(CpuConvert, ReadsEvery16BitNumber) {
  std::vector<std::uint16_t> bits(1 << 16);
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : narrow_types) {
    std::vector<float> values(bits.size());
    cpu::to_float(bits.data(), dtype, values.data(), static_cast<std::int64_t>(values.size()));
    for (std::size_t i = 0; i < bits.size(); ++i)
      ASSERT_TRUE(same(values[i], load_element(bits.data(), dtype, static_cast<std::int64_t>(i))))
          << name(dtype) << " " << i;
  }
}

TEST(CpuConvert, RoundsAsStoringDoes) {
  // Every sign, exponent and leading bits, with low bits just around each tie.
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 1 << 16; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  for (const DType dtype : narrow_types) {
    std::vector<std::uint16_t> bits(values.size());
    cpu::from_float(values.data(), dtype, bits.data(), count);
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = values[static_cast<std::size_t>(i)];
      ASSERT_TRUE(same(load_element(bits.data(), dtype, i), round_to(value, dtype))) << name(dtype) << " " << value;
    }
  }
}

TEST(CpuConvert, TakesAnyAddressAndLength) {
  for (const DType dtype : narrow_types) {
    for (const std::int64_t count : {0, 1, 7, 255, 256, 257, 600}) {
      std::vector<float> values(static_cast<std::size_t>(count)), back(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 200) - 100;
      std::vector<std::byte> memory(2 * values.size() + 2, std::byte{7});
      cpu::from_float(values.data(), dtype, memory.data() + 1, count);
      EXPECT_EQ(memory.front(), std::byte{7});
      EXPECT_EQ(memory.back(), std::byte{7});
      cpu::to_float(memory.data() + 1, dtype, back.data(), count);
      EXPECT_EQ(back, values);
    }
  }
}

TEST(CpuConvert, RoundsOperandsAsTheContractsSay) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0xffff0000U; bits += 0x0fffU) values.push_back(std::bit_cast<float>(bits));
  for (const OperandRounding rounding : all_operand_roundings) {
    std::vector<float> rounded = values;
    cpu::round_floats(rounded.data(), static_cast<std::int64_t>(rounded.size()), rounding);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(same(rounded[i], round_operand(values[i], rounding))) << name(rounding) << " " << values[i];
  }
}

}  // namespace
}  // namespace tapconv
