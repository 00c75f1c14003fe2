#include "workbench/rank_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace tapconv {
namespace {

TEST(RankTest, OfSeparateSamplesIsCounted) {
  // Of the ways to choose m of m + n ranks, one is as extreme, on either side.
  const std::vector<double> a{1, 2, 3}, b{4, 5, 6, 7};
  EXPECT_DOUBLE_EQ(2.0 / 35, compare_ranks(a, b).p_value);
  EXPECT_DOUBLE_EQ(2.0 / 35, compare_ranks(b, a).p_value);
  const std::vector<double> seven{1, 2, 3, 4, 5, 6, 7}, more{8, 9, 10, 11, 12, 13, 14};
  EXPECT_DOUBLE_EQ(2.0 / 3432, compare_ranks(seven, more).p_value);
}

TEST(RankTest, TabulatedCriticalValues) {
  // Standard tables of the Mann-Whitney U test, 5 % two-sided: significant up to U = 2 for 5 and 5, 23 for 10 and 10.
  const auto p_value = [](int size, int statistic) {
    // a lies below b, but for `statistic` pairs: its largest values are raised past as many of b as that takes.
    std::vector<double> a, b;
    for (int i = 0; i < size; ++i) {
      a.push_back(i);
      b.push_back(size + i);
    }
    for (int i = size - 1; statistic > 0; --i) {
      const int past = std::min(statistic, size);
      a[static_cast<std::size_t>(i)] = size + past - 0.5 + 0.001 * i;
      statistic -= past;
    }
    return compare_ranks(a, b).p_value;
  };
  EXPECT_LE(p_value(5, 2), 0.05);
  EXPECT_GT(p_value(5, 3), 0.05);
  EXPECT_LE(p_value(10, 23), 0.05);
  EXPECT_GT(p_value(10, 24), 0.05);
}

TEST(RankTest, OfEqualSamples) {
  const std::vector<double> same(9, 2.5);
  const RankComparison comparison = compare_ranks(same, same);
  EXPECT_EQ(1, comparison.p_value);
  EXPECT_EQ(0, comparison.difference);
  ASSERT_TRUE(comparison.interval.has_value());
  EXPECT_EQ(0, comparison.interval->low);
  EXPECT_EQ(0, comparison.interval->high);
  const std::vector<double> many(500, 2.5);
  EXPECT_EQ(1, compare_ranks(many, many).p_value);
}

TEST(RankTest, TiesAreCountedExactly) {
  // Ranks 1, 2.5, 2.5, 4: two of the six ways to choose two of them have the least sum, 3.5.
  const std::vector<double> a{1, 2}, b{2, 3};
  EXPECT_DOUBLE_EQ(2 * 2.0 / 6, compare_ranks(a, b).p_value);
}

TEST(RankTest, OfFewValuesHasNoInterval) {
  const std::vector<double> three{1, 2, 3}, four{1, 2, 3, 4}, one{1};
  EXPECT_FALSE(compare_ranks(three, three).interval.has_value());
  EXPECT_TRUE(compare_ranks(four, four).interval.has_value());
  EXPECT_FALSE(compare_ranks(one, one).interval.has_value());
  EXPECT_EQ(1, compare_ranks(one, one).p_value);
}

/// `size` values around `place`.
std::vector<double> draw(std::mt19937& random, std::size_t size, double place) {
  std::exponential_distribution<double> noise(1.0);
  std::vector<double> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(place + noise(random));
  return values;
}

TEST(RankTest, KeepsItsLevelAndItsIntervalHoldsTheDifference) {
  std::mt19937 random(3);
  for (const std::size_t size : {7u, 15u, 30u}) {
    int alarms = 0, held = 0;
    constexpr int trials = 2000;
    for (int trial = 0; trial < trials; ++trial) {
      const auto a = draw(random, size, 1), b = draw(random, size, 1.5);
      const RankComparison apart = compare_ranks(a, b), alike = compare_ranks(a, draw(random, size, 1));
      alarms += alike.p_value <= 0.05;
      held += apart.interval->low <= 0.5 && 0.5 <= apart.interval->high;
    }
    // Three standard deviations of a share of 2000.
    EXPECT_LE(alarms, trials * (0.05 + 0.015)) << size;
    EXPECT_GE(held, trials * (0.95 - 0.015)) << size;
  }
}

TEST(RankTest, TheNormalDistributionIsNearTheExactOne) {
  // Beyond what is counted: against random ways to share the same values out.
  std::mt19937 random(4);
  const auto a = draw(random, 25, 1), b = draw(random, 30, 1.4);
  const auto rank_sum = [](std::span<const double> first, std::span<const double> second) {
    double above = 0;
    for (const double one : first) {
      for (const double other : second) above += one > other;
    }
    return std::abs(above - static_cast<double>(first.size() * second.size()) / 2);
  };
  std::vector<double> all(a);
  all.insert(all.end(), b.begin(), b.end());
  int as_extreme = 0;
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    std::ranges::shuffle(all, random);
    as_extreme += rank_sum(std::span(all).first(25), std::span(all).subspan(25)) >= rank_sum(a, b);
  }
  EXPECT_NEAR(static_cast<double>(as_extreme) / draws, compare_ranks(a, b).p_value, 0.01);
}

TEST(Holm, CorrectsStepByStep) {
  const std::vector<double> p{0.01, 0.04, 0.03, 0.5};
  const std::vector<double> corrected = holm(p);
  EXPECT_DOUBLE_EQ(0.04, corrected[0]);
  EXPECT_DOUBLE_EQ(0.09, corrected[2]);
  EXPECT_DOUBLE_EQ(0.09, corrected[1]) << "no smaller than that of a smaller p-value";
  EXPECT_DOUBLE_EQ(0.5, corrected[3]);
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace tapconv
