#include "workbench/fingerprint.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <random>

#include "oracle/statistics.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {
namespace {

struct Data {
  std::vector<float> x, w;
};

/// A 1x1 convolution: `outputs` sums of `reduction` products.
Problem sums(std::int64_t reduction, std::int64_t outputs) {
  Problem problem;
  problem.rank = 1;
  problem.in_channels = reduction;
  problem.input[0] = outputs;
  problem.bias = false;
  return problem;
}

Data draw(const Problem& problem, shared::Values values, std::uint64_t seed) {
  Data data;
  const shared::Recipe input{.seed = seed, .values = values, .scale = 1, .keep = 1};
  const shared::Recipe weight{.seed = seed + 1, .values = values, .scale = 0x1p-16f, .keep = 1};
  for (std::int64_t i = 0; i < element_count(input_shape(problem)); ++i)
    data.x.push_back(shared::seeded_value(input, i));
  for (std::int64_t i = 0; i < element_count(weight_shape(problem)); ++i)
    data.w.push_back(shared::seeded_value(weight, i));
  return data;
}

/// A result in the given arithmetic, summed in binary32, and the fingerprint of it.
Fingerprint of(const Problem& problem, const Data& data, OperandRounding arithmetic) {
  const std::vector<std::int64_t> outputs = sample_outputs(problem, 512, 1);
  std::vector<std::vector<double>> exact_sums;
  std::vector<double> result;
  RootMeanSquare noise;
  for (const OperandRounding rounding : all_operand_roundings) {
    std::vector<double>& values = exact_sums.emplace_back();
    for (const OracleOutput& output : oracle(problem, operands(data.x, data.w, {}), outputs, rounding)) {
      values.push_back(output.value);
      if (rounding != arithmetic) continue;
      result.push_back(output.sequential);
      noise.add(output.sequential - output.value);
    }
  }
  return fingerprint(result, exact_sums, noise.value());
}

TEST(Fingerprint, NamesEveryArithmeticFromTies) {
  for (const std::int64_t reduction : {8, 100, 2240, 36864}) {
    const Problem problem = sums(reduction, 300);
    const Data data = draw(problem, shared::Values::ties, 3);
    for (const OperandRounding arithmetic : all_operand_roundings) {
      const Fingerprint print = of(problem, data, arithmetic);
      SCOPED_TRACE(std::string(name(arithmetic)) + " of " + std::to_string(reduction));
      EXPECT_TRUE(print.known);
      EXPECT_TRUE(print.tie_rule_known);
      EXPECT_EQ(arithmetic, print.rounding);
      EXPECT_TRUE(print.consistent_with(arithmetic));
      for (const OperandRounding other : all_operand_roundings)
        EXPECT_EQ(other == arithmetic, print.consistent_with(other)) << name(other);
    }
  }
}

TEST(Fingerprint, LeavesTheTieRuleOpenWithoutTies) {
  const Problem problem = sums(8, 300);
  Data data = draw(problem, shared::Values::signed_, 5);
  // No operand lies halfway between TF32 neighbours.
  for (std::vector<float>* values : {&data.x, &data.w})
    for (float& value : *values) value = round_operand(value, OperandRounding::bf16) * (1 + 0x1p-12f);
  const Fingerprint print = of(problem, data, OperandRounding::tf32_rn);
  EXPECT_TRUE(print.known);
  EXPECT_FALSE(print.tie_rule_known);
  EXPECT_EQ("tf32 (to nearest, tie rule undecided)", print.name());
}

TEST(Fingerprint, CallsExactWhatNeedsNoRounding) {
  const Problem problem = sums(16, 300);
  Data data = draw(problem, shared::Values::signed_, 6);
  for (std::vector<float>* values : {&data.x, &data.w})
    for (float& value : *values) value = value > 0 ? 1.0f : -1.0f;
  const Fingerprint print = of(problem, data, OperandRounding::tf32_rz);
  EXPECT_EQ("fp32", print.name());
  EXPECT_TRUE(print.consistent_with(OperandRounding::tf32_rz)) << "indistinguishable here";
}

TEST(Fingerprint, DoesNotKnowNoise) {
  const Problem problem = sums(64, 300);
  const Data data = draw(problem, shared::Values::ties, 8);
  const std::vector<std::int64_t> outputs = sample_outputs(problem, 512, 1);
  std::vector<std::vector<double>> exact_sums;
  for (const OperandRounding rounding : all_operand_roundings) {
    std::vector<double>& values = exact_sums.emplace_back();
    for (const OracleOutput& output : oracle(problem, operands(data.x, data.w, {}), outputs, rounding))
      values.push_back(output.value);
  }
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 1e-3);
  std::vector<double> result;
  for (const double value : exact_sums[0]) result.push_back(static_cast<float>(value * (1 + noise(random))));
  EXPECT_EQ("unknown", fingerprint(result, exact_sums, 0).name());
}

}  // namespace
}  // namespace tapconv
