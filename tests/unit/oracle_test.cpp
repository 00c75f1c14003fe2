#include "oracle/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "all_outputs.hpp"
#include "golden.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::all_outputs;
using testing::GoldenVector;

TEST(Oracle, AgreesWithPyTorchOnGoldenVectors) {
  const std::vector<GoldenVector> vectors = testing::golden_vectors();
  EXPECT_EQ(vectors.size(), 500U);
  for (const GoldenVector& golden : vectors) {
    SCOPED_TRACE("vector " + std::to_string(&golden - vectors.data()) + ": " + spell(golden.problem));
    validate(golden.problem);
    ASSERT_EQ(golden.shape, output_shape(golden.problem));
    const auto actual = oracle(golden.problem, golden.operands(), all_outputs(golden.problem), OperandRounding::exact);
    ASSERT_EQ(golden.output.size(), actual.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
      EXPECT_LE(std::abs(golden.output[i] - actual[i].value), 1e-12 * std::max(1.0, actual[i].magnitude)) << i;
  }
}

TEST(GoldenVectors, CoverTheArgumentSpace) {
  const std::vector<GoldenVector> vectors = testing::golden_vectors();
  const auto count = [&](auto&& has) {
    return std::ranges::count_if(vectors, [&](const GoldenVector& golden) { return has(golden.problem); });
  };
  const auto any = [](const Extent& extent, auto&& has) { return std::ranges::any_of(extent, has); };
  const auto negative = [](std::int64_t value) { return value < 0; };
  const auto above_one = [](std::int64_t value) { return value > 1; };
  for (const int rank : {1, 2, 3}) EXPECT_GE(count([&](const Problem& p) { return p.rank == rank; }), 50) << rank;
  for (const Kind kind : {Kind::convolution, Kind::transposed, Kind::depthwise_separable})
    EXPECT_GE(count([&](const Problem& p) { return p.kind == kind; }), 50);
  for (const PaddingMode mode :
       {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular})
    EXPECT_GE(count([&](const Problem& p) { return p.padding_mode == mode; }), 25) << name(mode);
  for (const Activation activation : all_activations)
    EXPECT_GE(count([&](const Problem& p) { return p.activation == activation; }), 25) << name(activation);
  EXPECT_GE(count([&](const Problem& p) { return any(p.stride, above_one); }), 100);
  EXPECT_GE(count([&](const Problem& p) { return any(p.dilation, above_one); }), 100);
  EXPECT_GE(count([](const Problem& p) { return p.padding_lo != p.padding_hi; }), 100);
  EXPECT_GE(count([&](const Problem& p) { return any(p.padding_lo, negative) || any(p.padding_hi, negative); }), 50);
  EXPECT_GE(count([](const Problem& p) { return p.output_padding != Extent{0, 0, 0}; }), 50);
  EXPECT_GE(count([](const Problem& p) { return p.groups > 1 && p.groups < p.in_channels; }), 25);
  EXPECT_GE(count([](const Problem& p) { return p.groups > 1 && p.out_channels > p.in_channels; }), 25);
  EXPECT_GE(count([](const Problem& p) { return p.depth_multiplier > 1; }), 25);
  EXPECT_GE(count([](const Problem& p) { return p.bias; }), 100);
  EXPECT_GE(count([](const Problem& p) { return p.residual; }), 100);
}

/// 1-D, one channel: input 3, kernel 2, padded by one on each side.
Problem padded() {
  Problem problem;
  problem.rank = 1;
  problem.input[0] = 3;
  problem.kernel[0] = 2;
  problem.padding_lo[0] = problem.padding_hi[0] = 1;
  problem.bias = true;
  return problem;
}

TEST(Oracle, CountsProductsAndMagnitudes) {
  const std::vector<float> x{1, -2, 4}, w{3, -5}, b{-0.5};
  const auto out = oracle(padded(), operands(x, w, b), all_outputs(padded()), OperandRounding::exact);
  ASSERT_EQ(4u, out.size());
  EXPECT_EQ(-5.5, out[0].value);  // 0*3 + 1*-5 - 0.5
  EXPECT_EQ(5.5, out[0].magnitude);
  EXPECT_EQ(1, out[0].products);
  EXPECT_EQ(12.5, out[1].value);  // 1*3 + -2*-5 - 0.5
  EXPECT_EQ(13.5, out[1].magnitude);
  EXPECT_EQ(2, out[1].products);
  EXPECT_EQ(12.5f, out[1].sequential);
}

TEST(Oracle, NonFiniteWeightsMeetPaddingAsZeros) {
  const std::vector<float> x{1, 1, 1}, w{INFINITY, 1}, b{0};
  const auto out = oracle(padded(), operands(x, w, b), all_outputs(padded()), OperandRounding::exact);
  EXPECT_TRUE(std::isnan(out[0].value)) << "the infinite tap lies on padding: Inf * 0";
  EXPECT_EQ(INFINITY, out[1].value);
  EXPECT_EQ(INFINITY, out[3].value) << "the finite tap lies on padding";
}

TEST(Oracle, MagnitudeIsThatOfTheFiniteProducts) {
  const std::vector<float> x{3, INFINITY, NAN}, w{2, 1}, b{-1};
  const auto out = oracle(padded(), operands(x, w, b), std::vector<std::int64_t>{1, 2}, OperandRounding::exact);
  EXPECT_EQ(INFINITY, out[0].value);
  EXPECT_EQ(7, out[0].magnitude);
  EXPECT_TRUE(std::isnan(out[1].value));
  EXPECT_EQ(1, out[1].magnitude);
}

TEST(Oracle, RoundsOperandsButNotTheBias) {
  const float tie = 1 + 0x1p-11f;  // between 1 and 1 + 2^-10
  const std::vector<float> x{tie, 0, 0}, w{1, 0}, b{0x1p-20f};
  const auto value = [&](OperandRounding rounding) {
    return oracle(padded(), operands(x, w, b), std::vector<std::int64_t>{1}, rounding)[0].value;
  };
  EXPECT_EQ(1 + 0x1p-11 + 0x1p-20, value(OperandRounding::exact));
  EXPECT_EQ(1 + 0x1p-10 + 0x1p-20, value(OperandRounding::tf32_rna));
  EXPECT_EQ(1 + 0x1p-20, value(OperandRounding::tf32_rn));
  EXPECT_EQ(1 + 0x1p-20, value(OperandRounding::tf32_rz));
}

TEST(Oracle, RefusesTensorsAndIndicesThatDoNotFit) {
  const std::vector<float> x(3), w(2), b(1), wrong(4);
  const std::vector<std::int64_t> zero{0}, beyond{4}, negative{-1};
  EXPECT_THROW((void)oracle(padded(), operands(wrong, w, b), zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), operands(x, wrong, b), zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), operands(x, w, {}), zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), operands(x, w, b), beyond, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), operands(x, w, b), negative, OperandRounding::exact), Error);
}

TEST(Samples, HoldEveryCornerAndSpreadOverAll) {
  Problem problem;
  problem.batch = 3;
  problem.in_channels = 1;
  problem.out_channels = 5;
  problem.input = {40, 50, 1};
  const auto outputs = sample_outputs(problem, 1000, 7);
  ASSERT_GE(outputs.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(outputs.begin(), outputs.end()));
  const std::set<std::int64_t> set(outputs.begin(), outputs.end());
  EXPECT_EQ(set.size(), outputs.size());
  EXPECT_GE(*set.begin(), 0);
  EXPECT_LT(*set.rbegin(), 3 * 5 * 40 * 50);
  for (const int n : {0, 2})
    for (const int k : {0, 4})
      for (const int h : {0, 39})
        for (const int w : {0, 49}) EXPECT_TRUE(set.count(((n * 5 + k) * 40 + h) * 50 + w)) << n << k << h << w;
  // No gap longer than two of the thousand equal parts.
  for (std::size_t i = 1; i < outputs.size(); ++i) EXPECT_LE(outputs[i] - outputs[i - 1], 2 * 30);
}

TEST(Samples, AreAllOutputsOfASmallProblem) {
  const Problem problem = padded();
  EXPECT_EQ((std::vector<std::int64_t>{0, 1, 2, 3}), sample_outputs(problem, 4, 0));
}

}  // namespace
}  // namespace tapconv
