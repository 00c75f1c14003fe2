#include "workbench/diagnosis_recomputation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "definition.hpp"
#include "random_problem.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

/// Without a deviation it is the oracle, on numbers whose sums are exact and with every operand rounding.
TEST(DiagnosisRecomputation, IsTheOracleWhereNothingDeviates) {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    const Problem problem = testing::RandomProblem(seed, testing::Space::whole).draw(2e5);
    SCOPED_TRACE(spell(problem));
    const testing::StoredOperands stored(problem, testing::DefinitionOperands(problem, seed));
    const Operands operands = stored.operands();
    const std::vector<std::int64_t> outputs = sample_outputs(problem, 64, seed);
    const Place shape = whole_shape(output_shape(problem));
    Variant variant = faithful(problem);
    for (const OperandRounding rounding : {variant.rounding, OperandRounding::bf16}) {
      variant.rounding = rounding;
      const Recomputation recompute(problem, variant, operands);
      const std::vector<OracleOutput> expected = oracle(problem, operands, outputs, rounding);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto actual = recompute(place_of(outputs[i], shape));
        ASSERT_TRUE(actual.has_value());
        ASSERT_EQ(expected[i].sum, actual->sum) << outputs[i];
        ASSERT_NEAR(expected[i].value, actual->value, 1e-13 * std::abs(expected[i].value)) << outputs[i];
        ASSERT_NEAR(expected[i].magnitude, actual->magnitude, 1e-12 * expected[i].magnitude) << outputs[i];
        ASSERT_EQ(expected[i].products, actual->products) << outputs[i];
        ASSERT_EQ(expected[i].may_overflow, actual->may_overflow) << outputs[i];
      }
    }
  }
}

TEST(DiagnosisRecomputation, PlacesAndElementsAreInverse) {
  const Place shape{2, 3, 1, 5, 4};
  for (const AxisOrder& order : {contiguous_order, channels_last_order, AxisOrder{4, 0, 3, 1, 2}}) {
    for (std::int64_t element = 0; element < 120; ++element)
      EXPECT_EQ(element, element_of(place_in(order, shape, element), strides_in(order, shape)));
  }
  EXPECT_EQ((Place{1, 2, 0, 4, 3}), place_of(119, shape));
  EXPECT_EQ(119, index_of({1, 2, 0, 4, 3}, shape));
}

/// Every suspicion of every problem can be evaluated: deviating parameters lead out of no tensor.
TEST(DiagnosisRecomputation, SuspicionsStayWithinTheTensors) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = testing::RandomProblem(seed, testing::Space::whole).draw(2e4);
    SCOPED_TRACE(spell(problem));
    const testing::DefinitionOperands drawn(problem, seed);
    testing::StoredOperands stored(problem, drawn);
    if (!problem.residual) stored.residual = testing::store(drawn.residual, problem.out_dtype, problem.layout);
    const Operands operands = stored.operands();
    const Place shape = whole_shape(output_shape(problem));
    for (const Suspicion& suspicion : all_suspicions(problem)) {
      EXPECT_FALSE(suspicion.cause.empty());
      EXPECT_FALSE(suspicion.said.empty() || suspicion.said.ends_with('.')) << suspicion.said;
      EXPECT_EQ(std::string::npos, suspicion.said.find('@')) << suspicion.said;
      const Recomputation recompute(problem, suspicion.variant, operands);
      for (const std::int64_t output : sample_outputs(problem, 4, seed)) {
        const auto value = recompute(place_of(output, shape));
        ASSERT_FALSE(value && std::isnan(value->value)) << suspicion.cause;
      }
    }
  }
}

}  // namespace
}  // namespace tapconv
