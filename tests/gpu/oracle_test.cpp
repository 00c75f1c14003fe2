// The device's oracle against the host's.
#include <cmath>
#include <limits>

#include "../unit/all_outputs.hpp"
#include "../unit/problem_matrix.hpp"
#include "../unit/random_problem.hpp"
#include "trial.hpp"

namespace tapconv {
namespace {

class GpuOracle : public testing::SlicedGpuTest {
 protected:
  static bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  /// Expects the two to agree on what `host` holds, for every rounding: counts and chains of fused multiply-adds
  /// exactly, fp64 sums to their own error.
  static void expect_equal(const Problem& problem, const HostTensors& host) {
    SCOPED_TRACE(spell(problem));
    CudaTensors tensors(problem, context());
    tensors.upload(host.operands());
    const std::vector<std::int64_t> outputs = testing::all_outputs(problem);
    for (const OperandRounding rounding : all_operand_roundings) {
      // No contract rounds float64.
      if (problem.dtype == DType::float64 && rounding != OperandRounding::exact) continue;
      SCOPED_TRACE(name(rounding));
      const std::vector<OracleOutput> actual = tensors.evaluate(outputs, rounding);
      const std::vector<OracleOutput> expected = oracle(problem, host.operands(), outputs, rounding);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const OracleOutput &here = actual[i], &there = expected[i];
        // Compensated sums are as good as if made in twice the precision, then rounded.
        const double close = problem.dtype == DType::float64 ? 0x1p-52 * std::abs(there.sum) + 0x1p-98 * there.magnitude
                                                             : 1e-14 * there.magnitude;
        ASSERT_TRUE(same(here.sum, there.sum) || std::abs(here.sum - there.sum) <= close)
            << i << ": " << here.sum << " for " << there.sum;
        ASSERT_TRUE(same(here.value, there.value) ||
                    std::abs(here.value - there.value) <=
                        activated_error(problem.activation, there.sum, close, problem.negative_slope))
            << i << ": " << here.value << " for " << there.value;
        ASSERT_NEAR(there.magnitude, here.magnitude, 1e-14 * there.magnitude) << i;
        ASSERT_EQ(there.products, here.products) << i;
        ASSERT_TRUE(same(here.sequential, there.sequential))
            << i << ": " << here.sequential << " for " << there.sequential;
        ASSERT_EQ(there.may_overflow, here.may_overflow) << i;
      }
    }
  }
};

TEST_P(GpuOracle, EqualsTheHostsOnRandomProblems) {
  for (std::uint64_t seed = GetParam(); seed < 240; seed += slices) {
    const Problem problem = testing::any_random_problem(seed, 3e5);
    expect_equal(problem, testing::drawn_operands(problem, seed / slices % 2 == 0 ? uniform_recipes(problem, seed)
                                                                                  : sparse_recipes(problem, seed)));
  }
}

TEST_P(GpuOracle, EqualsTheHostsOnEveryCombination) {
  for (const Problem& problem : slice_of(testing::problem_matrix()))
    expect_equal(problem, testing::drawn_operands(problem, tie_recipes(problem, 5)));
}

TEST_P(GpuOracle, EqualsTheHostsOnNumbersAtTheEnds) {
  for (const Problem& problem : slice_of(testing::problem_matrix())) {
    HostTensors host = testing::drawn_operands(problem, uniform_recipes(problem, 6));
    const auto set = [&](std::vector<std::byte>& tensor, std::int64_t index, double value) {
      const auto count = static_cast<std::int64_t>(tensor.size() / element_bytes(problem.dtype));
      store_element(tensor.data(), problem.dtype, index % count, value);
    };
    set(host.input, 3, std::numeric_limits<double>::infinity());
    set(host.input, 11, std::numeric_limits<double>::quiet_NaN());
    set(host.input, 17, 3e38);
    set(host.input, 23, 1e-40);
    set(host.weight, 5, -std::numeric_limits<double>::infinity());
    set(host.weight, 2, 3e38);
    expect_equal(problem, host);
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, GpuOracle, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
