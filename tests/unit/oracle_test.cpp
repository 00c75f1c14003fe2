#include "oracle/oracle.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

std::vector<std::int64_t> all_outputs(const Problem& problem) {
  return sample_outputs(problem, element_count(output_shape(problem)), 0);
}

/// The layer of one line of tests/golden/convolutions.jsonl.
Problem golden_problem(const nlohmann::json& line) {
  Problem problem;
  problem.rank = static_cast<int>(line["input"].size());
  problem.batch = line["batch"];
  problem.in_channels = line["in_channels"];
  problem.out_channels = line["out_channels"];
  problem.groups = line["groups"];
  problem.bias = line["bias"];
  for (int i = 0; i < problem.rank; ++i) {
    problem.input[i] = line["input"][i];
    problem.kernel[i] = line["kernel"][i];
    problem.stride[i] = line["stride"][i];
    problem.padding_lo[i] = problem.padding_hi[i] = line["padding"][i];
    problem.dilation[i] = line["dilation"][i];
  }
  return problem;
}

TEST(Oracle, AgreesWithPyTorchOnGoldenVectors) {
  std::ifstream file(TAPCONV_TEST_DATA "/golden/convolutions.jsonl");
  std::string text;
  ASSERT_TRUE(std::getline(file, text)) << "golden vectors are missing";
  const double scale = nlohmann::json::parse(text)["scale"];
  const auto floats = [&](const nlohmann::json& integers) {
    std::vector<float> values;
    for (const std::int64_t value : integers) values.push_back(static_cast<float>(static_cast<double>(value) * scale));
    return values;
  };
  int count = 0;
  while (std::getline(file, text)) {
    const auto line = nlohmann::json::parse(text);
    const Problem problem = golden_problem(line);
    SCOPED_TRACE(spell(problem));
    validate(problem);
    const auto x = floats(line["x"]), w = floats(line["w"]), b = floats(line["b"]);
    const std::vector<double> expected = line["y"];
    const auto shape = output_shape(problem);
    ASSERT_EQ(line["output"].get<std::vector<std::int64_t>>(),
              std::vector<std::int64_t>(shape.begin() + 2, shape.end()));
    const auto actual = oracle(problem, {x, w, b}, all_outputs(problem), OperandRounding::exact);
    ASSERT_EQ(expected.size(), actual.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(std::abs(expected[i] - actual[i].value), 1e-12 * std::max(1.0, actual[i].magnitude)) << i;
    ++count;
  }
  EXPECT_EQ(200, count);
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
  const auto out = oracle(padded(), {x, w, b}, all_outputs(padded()), OperandRounding::exact);
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
  const auto out = oracle(padded(), {x, w, b}, all_outputs(padded()), OperandRounding::exact);
  EXPECT_TRUE(std::isnan(out[0].value)) << "the infinite tap lies on padding: Inf * 0";
  EXPECT_EQ(INFINITY, out[1].value);
  EXPECT_EQ(INFINITY, out[3].value) << "the finite tap lies on padding";
}

TEST(Oracle, MagnitudeIsThatOfTheFiniteProducts) {
  const std::vector<float> x{3, INFINITY, NAN}, w{2, 1}, b{-1};
  const auto out = oracle(padded(), {x, w, b}, std::vector<std::int64_t>{1, 2}, OperandRounding::exact);
  EXPECT_EQ(INFINITY, out[0].value);
  EXPECT_EQ(7, out[0].magnitude);
  EXPECT_TRUE(std::isnan(out[1].value));
  EXPECT_EQ(1, out[1].magnitude);
}

TEST(Oracle, RoundsOperandsButNotTheBias) {
  const float tie = 1 + 0x1p-11f;  // between 1 and 1 + 2^-10
  const std::vector<float> x{tie, 0, 0}, w{1, 0}, b{0x1p-20f};
  const auto value = [&](OperandRounding rounding) {
    return oracle(padded(), {x, w, b}, std::vector<std::int64_t>{1}, rounding)[0].value;
  };
  EXPECT_EQ(1 + 0x1p-11 + 0x1p-20, value(OperandRounding::exact));
  EXPECT_EQ(1 + 0x1p-10 + 0x1p-20, value(OperandRounding::tf32_rna));
  EXPECT_EQ(1 + 0x1p-20, value(OperandRounding::tf32_rn));
  EXPECT_EQ(1 + 0x1p-20, value(OperandRounding::tf32_rz));
}

TEST(Oracle, RefusesTensorsAndIndicesThatDoNotFit) {
  const std::vector<float> x(3), w(2), b(1), wrong(4);
  const std::vector<std::int64_t> zero{0}, beyond{4}, negative{-1};
  EXPECT_THROW((void)oracle(padded(), {wrong, w, b}, zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), {x, wrong, b}, zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), {x, w, {}}, zero, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), {x, w, b}, beyond, OperandRounding::exact), Error);
  EXPECT_THROW((void)oracle(padded(), {x, w, b}, negative, OperandRounding::exact), Error);
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
