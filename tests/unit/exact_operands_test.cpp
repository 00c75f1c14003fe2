#include "workbench/exact_operands.hpp"

#include <gtest/gtest.h>

#include "all_outputs.hpp"
#include "oracle/oracle.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

TEST(ExactOperands, MakeSumsThatAChainOfBinary32HoldsExactly) {
  std::int64_t exact = 0, all = 0, not_zero = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Problem problem = with_exact_activation(testing::any_random_problem(seed, 1e5));
    SCOPED_TRACE(seed);
    const ExactOperands operands(problem, seed);
    const std::vector<std::int64_t> outputs = testing::all_outputs(problem);
    const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
    std::int64_t here = 0;
    for (const OracleOutput& expected : oracle(problem, operands.tensors.operands(), outputs, rounding)) {
      if (!has_exact_sum(problem, expected)) continue;
      ++here;
      not_zero += expected.sum != 0;
      ASSERT_EQ(round_to(expected.value, problem.out_dtype), expected.sequential);
    }
    EXPECT_GE(here, std::ssize(outputs) * 9 / 10);
    exact += here;
    all += std::ssize(outputs);
  }
  EXPECT_GT(exact, all * 99 / 100);
  EXPECT_GT(not_zero, all / 2);
}

TEST(ExactOperands, NeedMoreBitsThanTf32Has) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Problem problem = testing::any_random_problem(seed, 1e5);
    if (problem.dtype != DType::float32) continue;
    SCOPED_TRACE(seed);
    const ExactOperands operands(problem, seed);
    const std::vector<std::byte>& precise = seed % 2 == 0 ? operands.tensors.input : operands.tensors.weight;
    std::int64_t rounded = 0;
    const std::int64_t count = std::ssize(precise) / std::int64_t{sizeof(float)};
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = load_element(precise.data(), DType::float32, i);
      EXPECT_GE(std::abs(value), 0x1p12);
      EXPECT_LT(std::abs(value), 0x1p20);
      rounded += round_operand(static_cast<float>(value), OperandRounding::tf32_rn) != static_cast<float>(value);
    }
    EXPECT_GE(rounded, count / 4);
  }
}

}  // namespace
}  // namespace tapconv
