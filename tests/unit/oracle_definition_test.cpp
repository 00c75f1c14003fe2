// The oracle against the definition of every kind of problem, on numbers whose sums are exact.
#include <gtest/gtest.h>

#include <limits>

#include "all_outputs.hpp"
#include "definition.hpp"
#include "oracle/oracle.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

using testing::all_outputs;
using testing::define;
using testing::DefinitionOperands;
using testing::Grid;
using testing::StoredOperands;

template <class Function>
DefinitionOperands mapped(DefinitionOperands operands, const Function& function) {
  for (Grid* grid : {&operands.input, &operands.weight, &operands.bias, &operands.pointwise_weight,
                     &operands.pointwise_bias, &operands.residual}) {
    for (double& value : grid->values) value = function(value);
  }
  return operands;
}

TEST(OracleDefinition, TwoThousandRandomProblemsExactly) {
  int kinds[3] = {0, 0, 0};
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Problem p = testing::any_random_problem(seed, 1e4);
    SCOPED_TRACE(seed);
    ++kinds[static_cast<int>(p.kind)];
    const DefinitionOperands operands(p, seed);
    const StoredOperands stored(p, operands);
    const std::vector<OracleOutput> actual = oracle(p, stored.operands(), all_outputs(p), OperandRounding::exact);
    const Grid sums = define(p, operands);
    const Grid magnitudes = define(p, mapped(operands, [](double value) { return std::abs(value); }));
    Problem without_bias = p;
    without_bias.bias = false;
    const Grid products = define(without_bias, mapped(operands, [](double value) { return value == 0 ? 0.0 : 1.0; }));
    ASSERT_EQ(sums.values.size(), actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(sums.values[i], actual[i].sum) << i;
      ASSERT_EQ(activate(p.activation, sums.values[i], p.negative_slope), actual[i].value) << i;
      ASSERT_EQ(magnitudes.values[i], actual[i].magnitude) << i;
      if (p.kind != Kind::depthwise_separable) {
        ASSERT_EQ(products.values[i], actual[i].products) << i;
      }
      if (p.dtype != DType::float64) {
        const double chain = static_cast<float>(activate(p.activation, sums.values[i], p.negative_slope));
        ASSERT_EQ(round_to(chain, p.out_dtype), actual[i].sequential) << i;
      }
    }
  }
  for (const int count : kinds) EXPECT_GT(count, 100);
}

TEST(OracleDefinition, SumsOfDoublesAreBetterThanDoubles) {
  Problem p;
  p.rank = 1;
  p.dtype = p.out_dtype = DType::float64;
  p.contract = Contract::fp64;
  p.in_channels = 4;
  p.bias = false;
  // 1e16 + 1 - 1e16 + 2^-60: a plain sum loses the 1 and more.
  const std::vector<double> x{1e16, 1, -1e16, 0x1p-60}, w{1, 1, 1, 1};
  const auto out = oracle(p,
                          {.input = std::as_bytes(std::span(x)),
                           .weight = std::as_bytes(std::span(w)),
                           .bias = {},
                           .pointwise_weight = {},
                           .pointwise_bias = {},
                           .residual = {}},
                          std::vector<std::int64_t>{0}, OperandRounding::exact);
  EXPECT_EQ(1.0, out[0].sum);
  // And the errors of the products count: (1 + 2^-30)^2 - 1 - 2^-29 = 2^-60.
  const std::vector<double> x2{1 + 0x1p-30, -1, -0x1p-29, 0}, w2{1 + 0x1p-30, 1, 1, 1};
  const auto exact = oracle(p,
                            {.input = std::as_bytes(std::span(x2)),
                             .weight = std::as_bytes(std::span(w2)),
                             .bias = {},
                             .pointwise_weight = {},
                             .pointwise_bias = {},
                             .residual = {}},
                            std::vector<std::int64_t>{0}, OperandRounding::exact);
  EXPECT_EQ(0x1p-60, exact[0].sum);
}

TEST(OracleDefinition, SaysWhereAnIntermediateSumMayOverflow) {
  Problem p;
  p.rank = 1;
  p.kind = Kind::depthwise_separable;
  p.kernel[0] = p.input[0] = 2;
  p.bias = false;
  const std::vector<float> x{3e38F, 3e38F}, w{1, 1}, tenth{0.1F};
  const auto out = oracle(p,
                          {.input = std::as_bytes(std::span(x)),
                           .weight = std::as_bytes(std::span(w)),
                           .bias = {},
                           .pointwise_weight = std::as_bytes(std::span(tenth)),
                           .pointwise_bias = {},
                           .residual = {}},
                          std::vector<std::int64_t>{0}, OperandRounding::exact);
  EXPECT_LT(out[0].magnitude, std::numeric_limits<float>::max());
  EXPECT_TRUE(out[0].may_overflow) << "the value between is 6e38";
}

/// A convolution of one channel with one tap, so that an output is one product.
Problem product() {
  Problem p;
  p.rank = 1;
  p.bias = false;
  return p;
}

OracleOutput expected(double sum, double magnitude, std::int64_t products) {
  return {.value = sum, .sum = sum, .magnitude = magnitude, .products = products, .sequential = sum};
}

TEST(AllowedError, IsTheContractsBoundCarriedThroughTheEpilogue) {
  Problem p = product();
  EXPECT_EQ(error_bound(Contract::fp32, 3, 2.0), allowed_error(p, expected(1, 2, 3)));
  EXPECT_EQ(0, allowed_error(p, expected(0, 0, 0)));
  p.activation = Activation::silu;
  EXPECT_GT(allowed_error(p, expected(1, 2, 3)), error_bound(Contract::fp32, 3, 2.0));
  p.activation = Activation::none;
  p.out_dtype = DType::bfloat16;  // spacing 2^-7 at 1
  EXPECT_NEAR(0x1p-8, allowed_error(p, expected(1, 2, 3)), 0x1p-18);
  p.out_dtype = DType::float16;
  EXPECT_NEAR(0x1p-11, allowed_error(p, expected(1, 2, 3)), 0x1p-18);
  EXPECT_EQ(0, allowed_error(p, expected(0, 0, 0))) << "nothing to add: no rounding either";
  p = product();
  p.kind = Kind::depthwise_separable;
  p.contract = Contract::tf32;
  EXPECT_EQ(error_bound(Contract::tf32, 13, 2.0) + 0x1p-9, allowed_error(p, expected(1, 2, 3)));
}

}  // namespace
}  // namespace tapconv
