#include "workbench/distributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "oracle/statistics.hpp"
#include "problem_matrix.hpp"

namespace tapconv {
namespace {

std::vector<double> values_of(const std::vector<std::byte>& tensor, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(tensor.size() / element_bytes(dtype)); ++i)
    values.push_back(load_element(tensor.data(), dtype, i));
  return values;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  RootMeanSquare rms;
  for (const double value : values) rms.add(value - mean(values));
  return rms.value();
}

TEST(Distributions, HaveTheMomentsThatTheirNamesPromise) {
  const Problem problem = parse_problem("Conv1d(100, 1, 1) @ 1x100x100");
  const auto input = [&](Distribution distribution) {
    return values_of(draw_operands(problem, distribution, 3).input, DType::float32);
  };
  EXPECT_NEAR(0, mean(input(Distribution::normal)), 0.05);
  EXPECT_NEAR(1, deviation(input(Distribution::normal)), 0.05);
  EXPECT_NEAR(1 / std::sqrt(3.0), deviation(input(Distribution::uniform)), 0.02);
  EXPECT_NEAR(0.5, mean(input(Distribution::positive)), 0.02);
  const std::vector<double> relu = input(Distribution::relu);
  EXPECT_NEAR(0.5, static_cast<double>(std::ranges::count(relu, 0.0)) / 10000, 0.03);
  std::vector<double> lognormal = input(Distribution::lognormal), wide = input(Distribution::wide);
  for (double& value : lognormal) value = std::log(value);
  EXPECT_NEAR(1.5, deviation(lognormal), 0.05);
  for (double& value : wide) value = std::log2(std::abs(value));
  EXPECT_LT(*std::ranges::min_element(wide), -9.9);
  EXPECT_GT(*std::ranges::max_element(wide), 9.9);
}

TEST(Distributions, AreFunctionsOfTheSeedAndFiniteInEveryType) {
  for (const Problem& problem : testing::problem_matrix()) {
    for (const Distribution distribution : all_distributions) {
      SCOPED_TRACE(std::string(name(distribution)) + " of " + spell(problem));
      const HostTensors one = draw_operands(problem, distribution, 1), same = draw_operands(problem, distribution, 1),
                        other = draw_operands(problem, distribution, 2);
      EXPECT_EQ(one.input, same.input);
      EXPECT_EQ(one.weight, same.weight);
      EXPECT_NE(one.input, other.input);
      for (const double value : values_of(one.input, problem.dtype)) ASSERT_TRUE(std::isfinite(value));
      for (const double value : values_of(one.weight, problem.dtype)) ASSERT_TRUE(std::isfinite(value));
      for (const double value : values_of(one.residual, problem.out_dtype)) ASSERT_TRUE(std::isfinite(value));
    }
  }
}

TEST(Distributions, SparseOperandsHaveAboutSoManyProducts) {
  for (const char* text :
       {"Conv2d(64, 8, 3, bias=False) @ 1x64x12x12", "ConvTranspose2d(64, 8, 3, bias=False) @ 1x64x12x12"}) {
    const Problem problem = parse_problem(text);
    for (const double products : {1.0, 4.0, 16.0}) {
      const HostTensors tensors = draw_sparse_operands(problem, products, 5);
      const auto outputs = sample_outputs(problem, 1 << 20, 0);
      double sum = 0;
      for (const OracleOutput& output : oracle(problem, tensors.operands(), outputs, OperandRounding::exact))
        sum += static_cast<double>(output.products);
      EXPECT_NEAR(products, sum / static_cast<double>(outputs.size()), products / 2) << text;
    }
  }
  // A sum has no more products than it has.
  const Problem depthwise = parse_problem("Conv2d(8, 8, 3, groups=8) @ 1x8x12x12");
  const HostTensors tensors = draw_sparse_operands(depthwise, 16, 5);
  EXPECT_EQ(0, std::ranges::count(values_of(tensors.input, DType::float32), 0.0));
}

}  // namespace
}  // namespace tapconv
