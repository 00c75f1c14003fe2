#include "minimise.hpp"

#include <gtest/gtest.h>

#include "random_problem.hpp"

namespace tapconv {
namespace {

using testing::Minimiser;

Problem minimised(const Problem& problem, const std::function<bool(const Problem&)>& fails, int most_calls = 1000) {
  EXPECT_TRUE(fails(problem));
  return Minimiser(fails, most_calls)(problem);
}

TEST(Minimiser, ReachesTheSmallestProblemOfAll) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = testing::any_random_problem(seed);
    const Problem least = minimised(problem, [](const Problem&) { return true; });
    Problem expected;
    expected.rank = 1;
    expected.kind = problem.kind;
    expected.bias = false;
    expected.contract = Contract::fp32;
    EXPECT_EQ(spell(expected), spell(least)) << "from " << spell(problem);
  }
}

TEST(Minimiser, KeepsWhatTheFailureNeeds) {
  int needed = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    const int last = problem.rank - 1;
    const auto fails = [](const Problem& p) {
      const int w = p.rank - 1;
      return p.groups > 1 && p.padding_lo[w] != p.padding_hi[w] && p.kernel[w] >= 2;
    };
    if (!fails(problem)) continue;
    ++needed;
    SCOPED_TRACE(spell(problem));
    const Problem least = minimised(problem, fails);
    EXPECT_TRUE(fails(least));
    EXPECT_EQ(1, least.rank);
    EXPECT_EQ(2, least.kernel[0]);
    EXPECT_EQ(1, least.stride[0]);
    EXPECT_EQ(1, least.dilation[0]);
    EXPECT_EQ(1, least.batch);
    EXPECT_EQ(least.groups, least.in_channels);
    EXPECT_EQ(least.groups, least.out_channels);
    EXPECT_LE(least.input[0], problem.input[last]);
    EXPECT_EQ(DType::float32, least.dtype);
    EXPECT_FALSE(least.residual);
  }
  EXPECT_GT(needed, 20);
}

TEST(Minimiser, KeepsTypesAndContractsThatFail) {
  int needed = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    const auto fails = [](const Problem& p) {
      return p.dtype == DType::bfloat16 && p.out_dtype == DType::float32 && p.layout == Layout::channels_last;
    };
    if (!fails(problem)) continue;
    ++needed;
    const Problem least = minimised(problem, fails);
    EXPECT_TRUE(fails(least));
    EXPECT_EQ(Contract::bf16, least.contract);
  }
  EXPECT_GT(needed, 3);
}

TEST(Minimiser, AsksForValidProblemsAndNoMoreOftenThanItMay) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    int calls = 0;
    const Problem problem = testing::any_random_problem(seed);
    const auto fails = [&](const Problem& p) {
      ++calls;
      EXPECT_FALSE(find_violation(p));
      return p.in_channels * p.kernel[0] >= problem.in_channels * problem.kernel[0] / 2;
    };
    const Problem least = Minimiser(fails, 30)(problem);
    EXPECT_LE(calls, 30);
    EXPECT_FALSE(find_violation(least));
  }
}

}  // namespace
}  // namespace tapconv
