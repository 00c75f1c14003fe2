// Right results raise no alarm however they were computed; wrong arithmetic is called by its name.
#include <gtest/gtest.h>

#include "random_problem.hpp"
#include "subjects.hpp"

namespace tapconv {
namespace {

using testing::check_function;
using testing::Manner;
using testing::subject_in;

std::vector<Manner> honest_manners() {
  using Order = Manner::Order;
  std::vector<Manner> all{{.order = Order::forward}, {.order = Order::backward}, {.order = Order::pairwise}};
  for (const std::size_t block : {2u, 4u, 8u, 16u, 32u, 64u}) all.push_back({.order = Order::blocked, .block = block});
  for (const std::size_t seed : {1u, 2u, 3u}) all.push_back({.order = Order::shuffled, .block = seed});
  for (const std::size_t promotion : {1u, 2u, 4u}) all.push_back({.order = Order::three_tf32, .block = promotion});
  return all;
}

/// The problem of this number that is no float64 one, which a subject in binary32 cannot compute. Under `ieee` nothing
/// but multiply-adds of binary32 is honest.
Problem problem_for(const Manner& manner, std::uint64_t& seed) {
  while (true) {
    const Problem problem = testing::any_random_problem(seed++, 3e4);
    const bool split = manner.order == Manner::Order::three_tf32;
    if (problem.dtype == DType::float64 || (split && problem.contract != Contract::fp32)) continue;
    return problem;
  }
}

TEST(Honest, TwoHundredVariationsRaiseNoAlarm) {
  const std::vector<Manner> manners = honest_manners();
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < 200; ++i) {
    const Manner& manner = manners[i % manners.size()];
    const Problem problem = problem_for(manner, seed);
    const CheckReport report = check_function(problem, subject_in(manner));
    EXPECT_TRUE(report.passed) << spell(problem) << "\norder " << static_cast<int>(manner.order) << ", block "
                               << manner.block << ": " << report.sentence;
  }
}

/// 64 sums of `reduction` products.
Problem sums_of(std::int64_t reduction) {
  Problem problem;
  problem.kernel = reduction % 9 == 0 ? Extent{3, 3, 1} : Extent{1, 1, 1};
  problem.in_channels = reduction / (problem.kernel[0] * problem.kernel[1]);
  problem.out_channels = 4;
  problem.input = {3 + problem.kernel[0], 3 + problem.kernel[1], 1};
  problem.bias = false;
  return problem;
}

class WrongArithmetic : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(WrongArithmetic, IsRefusedByName) {
  const Problem problem = sums_of(GetParam());
  for (const OperandRounding rounding : all_operand_roundings) {
    if (rounding == OperandRounding::exact) continue;
    SCOPED_TRACE(name(rounding));
    const CheckReport report =
        check_function(problem, subject_in({.rounding = rounding}), {"integers", "full", "fingerprint"});
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(name(rounding), report.arithmetic) << report.sentence;
    EXPECT_TRUE(report.diagnosis.has_value());
  }
}

/// No stage that can see it relies on another.
TEST_P(WrongArithmetic, IsRefusedByEachStageAlone) {
  const Problem problem = sums_of(GetParam());
  for (const OperandRounding rounding : {OperandRounding::bf16, OperandRounding::fp16, OperandRounding::tf32_rna}) {
    for (const char* stage : {"integers", "full", "fingerprint", "distributions"}) {
      const CheckReport report = check_function(problem, subject_in({.rounding = rounding}), {stage});
      EXPECT_FALSE(report.passed) << name(rounding) << " passes " << stage;
    }
  }
}

TEST_P(WrongArithmetic, HonestSumsOfTheSameProblemPass) {
  const CheckReport report =
      check_function(sums_of(GetParam()), subject_in({.order = Manner::Order::three_tf32, .block = 4}),
                     {"integers", "full", "fingerprint", "distributions"});
  EXPECT_TRUE(report.passed) << report.sentence;
}

INSTANTIATE_TEST_SUITE_P(Products, WrongArithmetic, ::testing::Values(1, 2, 8, 27, 576, 4608, 36864));

}  // namespace
}  // namespace tapconv
