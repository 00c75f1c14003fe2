#include <gtest/gtest.h>

#include <cmath>

#include "all_outputs.hpp"
#include "oracle/oracle.hpp"
#include "special_numbers.hpp"
#include "tapconv/error.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {
namespace {

using testing::nan;

Problem problem_of(Contract contract) {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 8;
  problem.out_channels = 6;
  problem.input = {12, 10, 1};
  problem.kernel = {3, 3, 1};
  problem.padding_lo = problem.padding_hi = {1, 1, 0};
  problem.contract = contract;
  return problem;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.view().data),
          static_cast<std::size_t>(tensor.size()) * element_bytes(tensor.dtype())};
}

/// Chains of binary32 multiply-adds over the seeded tensors, rounded first.
std::vector<float> computed(const Problem& problem, OperandRounding rounding, std::uint64_t seed = 0) {
  TensorSource source;
  source.seed = seed;
  source = with_drawn(problem, source);
  Operands operands;
  operands.input = bytes_of(*source.input);
  operands.weight = bytes_of(*source.weight);
  operands.bias = bytes_of(*source.bias);
  const std::vector<std::int64_t> outputs = testing::all_outputs(problem);
  std::vector<float> values;
  for (const OracleOutput& output : oracle(problem, operands, outputs, rounding))
    values.push_back(static_cast<float>(output.sequential));
  return values;
}

CheckReport judged(const Problem& problem, const Tensor& output, std::uint64_t seed = 0) {
  CheckRequest request;
  request.problem = problem;
  request.tensors.seed = seed;
  request.output = output;
  request.samples = 0;
  return check(request);
}

CheckReport judged(const Problem& problem, const std::vector<float>& values) {
  return judged(problem, Tensor(output_shape(problem), values));
}

TEST(GivenOutput, IsJudgedOnItsOwnTensorsAlone) {
  const Problem problem = problem_of(Contract::fp32);
  const CheckReport report = judged(problem, computed(problem, OperandRounding::exact));
  EXPECT_TRUE(report.passed) << report.sentence;
  EXPECT_EQ("given output", report.solver);
  EXPECT_EQ("fp32", report.arithmetic);
  EXPECT_TRUE(report.indistinguishable.empty());
  ASSERT_EQ(1u, report.cases.size());
  EXPECT_EQ("uniform", report.cases[0].tensors);
  EXPECT_EQ(2 * 6 * 12 * 10, report.cases[0].outputs);
  EXPECT_FALSE(report.cases[0].unwritten.has_value());
}

TEST(GivenOutput, ShowsItsArithmetic) {
  const Problem fp32 = problem_of(Contract::fp32);
  for (const OperandRounding rounding : {OperandRounding::tf32_rz, OperandRounding::bf16}) {
    const CheckReport report = judged(fp32, computed(fp32, rounding));
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(name(rounding), report.arithmetic) << report.sentence;
  }
  const CheckReport rounded = judged(fp32, computed(fp32, OperandRounding::tf32_rna));
  EXPECT_FALSE(rounded.passed);
  EXPECT_NE(std::string::npos, rounded.sentence.find("computed in TF32, operands rounded to nearest"))
      << rounded.sentence;

  // fp32 where TF32 is declared breaks no rule of accuracy, but it is not what the contract says.
  const Problem tf32 = problem_of(Contract::tf32);
  EXPECT_TRUE(judged(tf32, computed(tf32, OperandRounding::tf32_rna)).passed);
  const CheckReport exact = judged(tf32, computed(tf32, OperandRounding::exact));
  EXPECT_FALSE(exact.passed);
  EXPECT_EQ("fp32", exact.arithmetic) << exact.sentence;
}

TEST(GivenOutput, OfAnotherSeedIsWrong) {
  const Problem problem = problem_of(Contract::fp32);
  const Tensor output(output_shape(problem), computed(problem, OperandRounding::exact, 5));
  EXPECT_TRUE(judged(problem, output, 5).passed);
  EXPECT_FALSE(judged(problem, output, 6).passed);
}

TEST(GivenOutput, NamesTheWorstPlaceAndTheNaNs) {
  const Problem problem = problem_of(Contract::fp32);
  std::vector<float> values = computed(problem, OperandRounding::exact);
  const std::size_t place = ((1 * 6 + 4) * 12 + 3) * 10 + 7;
  const float right = values[place];
  values[place] += 1;
  CheckReport report = judged(problem, values);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(1, report.cases[0].violations);
  EXPECT_EQ((std::vector<std::int64_t>{1, 4, 3, 7}), report.cases[0].worst_place);
  EXPECT_FLOAT_EQ(right, static_cast<float>(report.cases[0].worst_expected));
  EXPECT_EQ(values[place], report.cases[0].worst_actual);

  std::fill(values.begin(), values.begin() + 360, nan);
  report = judged(problem, values);
  EXPECT_EQ(360, report.cases[0].nans);
  EXPECT_EQ(361, report.cases[0].violations);
}

TEST(GivenOutput, MayHaveAnyStrides) {
  const Problem problem = problem_of(Contract::fp32);
  const auto values = std::make_shared<std::vector<float>>(computed(problem, OperandRounding::exact));
  const std::vector<std::int64_t> shape = output_shape(problem);
  const auto turned = std::make_shared<std::vector<float>>(values->size());
  const std::vector<std::int64_t> strides = strides_of(shape, Layout::channels_last);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t k = 0; k < shape[1]; ++k)
      for (std::int64_t p = 0; p < shape[2]; ++p)
        for (std::int64_t q = 0; q < shape[3]; ++q)
          turned->at(static_cast<std::size_t>(n * strides[0] + k * strides[1] + p * strides[2] + q * strides[3])) =
              values->at(i++);
  const Tensor output(TensorView{.data = turned->data(), .dtype = DType::float32, .shape = shape, .strides = strides},
                      turned);
  EXPECT_TRUE(judged(problem, output).passed);
}

TEST(GivenOutput, SixteenBitOperandsLeaveNothingUndecided) {
  Problem problem = problem_of(Contract::bf16);
  problem.dtype = DType::bfloat16;
  const CheckReport report = judged(problem, computed(problem, OperandRounding::exact));
  EXPECT_TRUE(report.passed) << report.sentence;
  EXPECT_EQ(report.expected_arithmetic, report.arithmetic) << report.sentence;
}

TEST(GivenOutput, MayLeaveItsArithmeticUndecided) {
  Problem problem;
  problem.rank = 1;
  problem.input = {4, 1, 1};
  problem.kernel = {2, 1, 1};
  problem.bias = false;
  CheckRequest request;
  request.problem = problem;
  request.tensors.input = Tensor({1, 1, 4}, std::vector<float>{1, 2, 3, 4});
  request.tensors.weight = Tensor({1, 1, 2}, std::vector<float>{1, -2});
  request.output = Tensor({1, 1, 3}, std::vector<float>{-3, -4, -5});
  const CheckReport report = check(request);
  EXPECT_TRUE(report.passed) << report.sentence;
  EXPECT_EQ("given", report.cases[0].tensors);
  EXPECT_EQ("undecided", report.arithmetic);
  EXPECT_EQ(std::size(all_operand_roundings), report.indistinguishable.size());
}

TEST(GivenOutput, MustFitTheProblem) {
  const Problem problem = problem_of(Contract::fp32);
  EXPECT_THROW((void)judged(problem, Tensor(DType::float32, {2, 6, 12, 9})), Error);
  EXPECT_THROW((void)judged(problem, Tensor(DType::float16, output_shape(problem))), Error);
}

}  // namespace
}  // namespace tapconv
