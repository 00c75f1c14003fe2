#include "oracle/statistics.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "special_numbers.hpp"

namespace tapconv {
namespace {

using testing::infinity;
using testing::nan;

ErrorStatistics judge(float actual, const OracleOutput& expected, Contract contract = Contract::fp32) {
  Problem problem;
  problem.contract = contract;
  ErrorStatistics statistics(problem);
  statistics.add(std::vector<std::int64_t>{5}, std::vector<double>{actual}, std::vector<OracleOutput>{expected});
  return statistics;
}

TEST(ErrorStatistics, ComparesWithTheBound) {
  const OracleOutput expected{.value = 1, .magnitude = 1, .products = 1, .sequential = 1};
  const double bound = 10 * 0x1p-24;
  EXPECT_EQ(0, judge(1, expected).violations());
  EXPECT_EQ(0, judge(static_cast<float>(1 + 0x1p-21), expected).violations());
  EXPECT_DOUBLE_EQ(0x1p-21 / bound, judge(1 + 0x1p-21f, expected).worst_ratio());
  EXPECT_EQ(1, judge(1 + 0x1p-20f, expected).violations());
  EXPECT_EQ(1, judge(1 + 0x1p-21f, expected, Contract::ieee).violations());
  EXPECT_EQ(5, judge(1, expected).worst_output());
}

TEST(ErrorStatistics, DemandsEqualityOfAnEmptySum) {
  const OracleOutput zero{};
  EXPECT_EQ(0, judge(0.0f, zero).violations());
  EXPECT_EQ(0, judge(-0.0f, zero).violations());
  EXPECT_EQ(1, judge(std::numeric_limits<float>::denorm_min(), zero).violations());
}

TEST(ErrorStatistics, NonFiniteOutputsMustAgree) {
  const auto with_value = [](double value) {
    return OracleOutput{.value = value, .magnitude = 1, .products = 1, .sequential = 0};
  };
  EXPECT_EQ(0, judge(nan, with_value(nan)).violations());
  EXPECT_EQ(1, judge(0, with_value(nan)).violations());
  EXPECT_EQ(1, judge(infinity, with_value(nan)).violations());
  EXPECT_EQ(0, judge(infinity, with_value(infinity)).violations());
  EXPECT_EQ(1, judge(-infinity, with_value(infinity)).violations());
  EXPECT_EQ(1, judge(nan, with_value(infinity)).violations());
  const OracleOutput finite{.value = 1, .magnitude = 1, .products = 1, .sequential = 1};
  EXPECT_EQ(1, judge(nan, finite).violations());
  EXPECT_EQ(1, judge(infinity, finite).violations());
  // 2^127 * 2 - 2^127: the sum is finite, but the first partial sum is not.
  const OracleOutput overflowing{
      .value = 0x1p127, .magnitude = 0x1.8p128, .products = 2, .sequential = infinity, .may_overflow = true};
  EXPECT_EQ(0, judge(infinity, overflowing).violations());
}

TEST(ErrorStatistics, AnInfinityMayBecomeNanOnceASumOverflows) {
  // -3e38 - 3e38 + infinity: the chain overflows to -infinity first.
  const OracleOutput expected{
      .value = infinity, .magnitude = 6e38, .products = 3, .sequential = nan, .may_overflow = true};
  EXPECT_EQ(0, judge(nan, expected).violations());
  EXPECT_EQ(0, judge(infinity, expected).violations());
  EXPECT_EQ(1, judge(1, expected).violations());
}

TEST(ErrorStatistics, AnOverflowMayBeActivated) {
  Problem problem;
  problem.activation = Activation::relu;
  const auto ratio = [&](double actual) {
    ErrorStatistics statistics(problem);
    // -3e38 - 3e38 + 3.3e38 + 3.3e38: the chain overflows to -infinity, of which ReLU makes 0.
    statistics.add(std::vector<std::int64_t>{0}, std::vector<double>{actual},
                   std::vector<OracleOutput>{
                       {.value = 6e37, .sum = 6e37, .magnitude = 1.26e39, .products = 4, .may_overflow = true}});
    return statistics.worst_ratio();
  };
  EXPECT_EQ(0, ratio(0));
  EXPECT_EQ(0, ratio(infinity));
  EXPECT_LE(ratio(6e37), 1);
  EXPECT_GT(ratio(1e38), 1);
}

TEST(ErrorStatistics, RootMeanSquares) {
  Problem problem;
  problem.contract = Contract::tf32;
  ErrorStatistics statistics(problem);
  const std::vector<OracleOutput> expected{{.value = 0, .magnitude = 9, .products = 1, .sequential = 1},
                                           {.value = 0, .magnitude = 9, .products = 1, .sequential = 1}};
  statistics.add(std::vector<std::int64_t>{0, 1}, std::vector<double>{3, -4}, expected);
  EXPECT_DOUBLE_EQ(std::sqrt(12.5), statistics.rms_error());
  EXPECT_DOUBLE_EQ(1, statistics.sequential_rms_error());
  EXPECT_DOUBLE_EQ(4, statistics.max_error());
}

TEST(ErrorStatistics, SixteenBitOutputsMayRoundAndOverflow) {
  Problem problem;
  problem.dtype = problem.out_dtype = DType::float16;
  problem.contract = Contract::fp16;
  const auto ratio = [&](double actual, double value) {
    ErrorStatistics statistics(problem);
    statistics.add(
        std::vector<std::int64_t>{0}, std::vector<double>{actual},
        std::vector<OracleOutput>{
            {.value = value, .sum = value, .magnitude = std::abs(value), .products = 1, .sequential = value}});
    return statistics.worst_ratio();
  };
  EXPECT_LE(ratio(1, 1 + 0x1p-11), 1) << "a tie of float16, rounded either way";
  EXPECT_LE(ratio(1 + 0x1p-10, 1 + 0x1p-11), 1);
  EXPECT_GT(ratio(1 + 0x1p-10, 1 + 0x1p-12), 1);
  EXPECT_EQ(0, ratio(infinity, 65521)) << "rounds to infinity";
  EXPECT_EQ(0, ratio(infinity, 65519.999)) << "within the bound of a value that rounds to infinity";
  EXPECT_EQ(infinity, ratio(infinity, 65000));
  EXPECT_LE(ratio(65504, 65521), 1.1);
  EXPECT_GT(ratio(65504, 70000), 100);
  EXPECT_EQ(infinity, ratio(-infinity, 70000));
}

TEST(ErrorStatistics, AnActivationIsPartOfTheBound) {
  Problem problem;
  problem.activation = Activation::silu;
  const auto ratio = [&](double actual, double sum) {
    ErrorStatistics statistics(problem);
    statistics.add(
        std::vector<std::int64_t>{0}, std::vector<double>{actual},
        std::vector<OracleOutput>{
            {.value = activate(Activation::silu, sum, 0), .sum = sum, .magnitude = 1, .products = 1, .sequential = 0}});
    return statistics.worst_ratio();
  };
  EXPECT_LE(ratio(activate(Activation::silu, 3 * (1 + 0x1p-21), 0), 3), 1);
  EXPECT_GT(ratio(activate(Activation::silu, 3 * (1 + 0x1p-18), 0), 3), 1);
  EXPECT_EQ(0, ratio(nan, -infinity)) << "-infinity * 0, as the formula says";
  EXPECT_EQ(0, ratio(0, -infinity));
  EXPECT_EQ(infinity, ratio(-1, -infinity));
  EXPECT_EQ(infinity, ratio(nan, infinity));
}

TEST(Closeness, FollowsTheCustomaryFormula) {
  Closeness closeness;
  closeness.add(std::vector<double>{1.0, 1.00015, 1.0003, infinity, nan, 2},
                std::vector<double>{1.0, 1.0, 1.0, infinity, nan, nan});
  EXPECT_EQ(6, closeness.count);
  EXPECT_EQ(3, closeness.failures);  // 3e-4 > 2e-4, and the two NaNs
  EXPECT_NEAR(3e-4, closeness.max_difference, 1e-7);
}

}  // namespace
}  // namespace tapconv
