// Every solver on a small problem of every combination of kind, rank, layout and arithmetic.
#include <functional>
#include <limits>

#include "../unit/problem_matrix.hpp"
#include "gpu_test.hpp"
#include "trial.hpp"

namespace tapconv {
namespace {

using testing::problem_matrix;
using testing::SolverPlan;

class Matrix : public testing::SlicedGpuTest {
 protected:
  /// Calls body(plan) for the slice's problems, varied by `vary`, on every solver. Options are tried on those of rank 2
  /// alone.
  template <class Vary, class Body>
  static void for_each_plan(const Vary& vary, const testing::PlanOptions& options, const Body& body) {
    std::vector<Problem> all = problem_matrix();
    if (options.wide || options.packed) std::erase_if(all, [](const Problem& problem) { return problem.rank != 2; });
    std::vector<Problem> problems = slice_of(all);
    for (Problem& problem : problems) problem = vary(problem);
    std::vector<SolverPlan> plans = testing::plans_of(problems, model(), options);
    testing::compile_ahead(context(), plans);
    for (SolverPlan& plan : plans) {
      SCOPED_TRACE(plan.name() + " on " + spell(plan.problem()));
      plan.load(context());
      body(plan);
    }
  }

  static void expect_exact(const testing::PlanOptions& options) {
    for_each_plan(with_exact_activation, options, [](const SolverPlan& plan) {
      // Once with precise inputs, once with precise weights.
      for (const std::uint64_t seed : {2u, 3u}) EXPECT_EQ("", testing::exact_trial(plan, context(), seed));
    });
  }
};

TEST_P(Matrix, IntegersAreExact) { expect_exact({}); }

TEST_P(Matrix, IntegersAreExactWithPackedWeightsAndWideCoordinates) {
  expect_exact({.configuration = {}, .wide = true, .packed = true});
}

TEST_P(Matrix, ContractsAreKept) {
  for_each_plan(std::identity(), {},
                [](const SolverPlan& plan) { EXPECT_EQ("", testing::contract_trial(plan, context(), 7)); });
}

/// What is not finite spreads as the oracle says. 0x7fffffff would become -0 if a rounding carried, 0x7f800001 an
/// infinity if it cut.
TEST_P(Matrix, NonFiniteOperandsSpreadAsTheOracleSays) {
  for_each_plan(std::identity(), {}, [](const SolverPlan& plan) {
    const Problem& problem = plan.problem();
    CudaTensors tensors(problem, context());
    for (const double special : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()}) {
      for (const bool in_input : {true, false}) {
        ExactOperands operands(problem, 1);
        std::vector<std::byte>& target = in_input ? operands.tensors.input : operands.tensors.weight;
        const auto count = static_cast<std::int64_t>(target.size() / element_bytes(problem.dtype));
        store_element(target.data(), problem.dtype, count / 2, special);
        tensors.upload(operands.tensors.operands());
        EXPECT_EQ("", testing::run_guarded(plan, tensors)) << special;
        EXPECT_EQ("", testing::judge(problem, tensors)) << special << (in_input ? " in the input" : " in the weight");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Slices, Matrix, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
