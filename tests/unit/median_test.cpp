#include "workbench/median.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tapconv {
namespace {

TEST(Median, OfOddAndEvenCounts) {
  EXPECT_EQ(0, median({}));
  EXPECT_EQ(2, median({3, 1, 2}));
  EXPECT_EQ(2.5, median({4, 1, 2, 3}));
}

TEST(MedianInterval, IsTheRangeOfFewValues) {
  const MedianInterval interval = median_interval({5, 1, 3});
  EXPECT_EQ(3, interval.median);
  EXPECT_EQ(1, interval.low);
  EXPECT_EQ(5, interval.high);
}

TEST(MedianInterval, TabulatedRanks) {
  // Standard tables of the sign test: 15 values, ranks 4 and 12; 25 values, ranks 8 and 18.
  const auto ranks = [](int n) {
    std::vector<double> values;
    for (int i = 1; i <= n; ++i) values.push_back(i);
    const MedianInterval interval = median_interval(values);
    return std::pair(interval.low, interval.high);
  };
  EXPECT_EQ(std::pair(1.0, 6.0), ranks(6));
  EXPECT_EQ(std::pair(4.0, 12.0), ranks(15));
  EXPECT_EQ(std::pair(8.0, 18.0), ranks(25));
}

TEST(MedianInterval, HoldsTheMedianOftenEnough) {
  std::mt19937 random(5);
  std::exponential_distribution<double> draw(1.0);
  int held = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 15; ++i) values.push_back(draw(random));
    const MedianInterval interval = median_interval(values);
    held += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  EXPECT_GT(held, trials * 0.95);
}

}  // namespace
}  // namespace tapconv
