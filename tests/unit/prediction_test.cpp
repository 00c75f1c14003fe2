#include "tapconv/prediction.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "all_outputs.hpp"
#include "oracle/prediction_operands.hpp"
#include "oracle/prediction_sums.hpp"
#include "prediction_data.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::computed;
using testing::DrawnOperands;
using testing::Measured;
using enum OperandRounding;

Arithmetic chain(OperandRounding rounding) { return {.rounding = rounding, .accumulation = Accumulation::chain}; }
Arithmetic sum(OperandRounding rounding) { return {.rounding = rounding, .accumulation = Accumulation::exact}; }

const Distribution unit = Distribution::uniform(0, 1), centred = Distribution::uniform(-1, 1),
                   gauss = Distribution::normal(0, 1), apart = Distribution::normal(2, 0.5),
                   mostly_zero = Distribution::uniform(-1, 1, 0.1);

/// Of input and weight; the rest uniform in +-1/2.
OperandDistributions operands_of(const Distribution& input, const Distribution& weight) {
  const Distribution rest = Distribution::uniform(-0.5, 0.5);
  return {.input = input,
          .weight = weight,
          .bias = rest,
          .pointwise_weight = weight,
          .pointwise_bias = rest,
          .residual = rest};
}

/// What to predict and to measure: the errors of an arithmetic, and its differences from a reference.
struct Case {
  Problem problem;
  OperandDistributions of;
  Arithmetic arithmetic, reference;
  double atol = 1e-4, rtol = 1e-4;
  double max_tolerance = 0.25;
};

std::string describe(const Case& item) {
  std::string text = std::to_string(item.problem.in_channels) + " channels, input " +
                     std::to_string(static_cast<int>(item.of.input.shape)) + " around " +
                     std::to_string(item.of.input.first) + ":";
  for (const Arithmetic& each : {item.arithmetic, item.reference})
    text += " " + std::string(name(each.rounding)) + " " + std::string(name(each.accumulation));
  return text;
}

/// RMS within 10 %, maxima within 25 %, shares within 3 points of what is measured over a dozen draws of all tensors.
void compare(const Case& item, std::uint64_t seed) {
  SCOPED_TRACE(describe(item));
  constexpr int draws = 12;
  const std::vector<std::int64_t> outputs = testing::all_outputs(item.problem);
  Measured error, difference;
  for (int draw = 0; draw < draws; ++draw) {
    const DrawnOperands drawn(item.problem, item.of, seed * draws + draw);
    const auto unrounded = oracle(item.problem, drawn.operands(), outputs, exact);
    const auto rounded = [&](OperandRounding rounding) {
      return rounding == exact ? unrounded : oracle(item.problem, drawn.operands(), outputs, rounding);
    };
    std::vector<double> truth;
    for (const OracleOutput& output : unrounded) truth.push_back(output.value);
    const auto own_sums = rounded(item.arithmetic.rounding);
    const auto reference_sums =
        item.reference.rounding == item.arithmetic.rounding ? own_sums : rounded(item.reference.rounding);
    const std::vector<double> own = computed(item.problem, drawn.operands(), item.arithmetic, own_sums);
    error.add(own, truth, 0, 0, draws);
    difference.add(own, computed(item.problem, drawn.operands(), item.reference, reference_sums), item.atol, item.rtol,
                   draws);
  }
  const ErrorPrediction predicted = predict_error(item.problem, item.arithmetic, item.of);
  EXPECT_NEAR(predicted.rms_value, error.value.value(), 0.1 * error.value.value());
  EXPECT_NEAR(predicted.rms_error, error.rms.value(), 0.1 * error.rms.value());
  EXPECT_NEAR(predicted.expected_max_error, error.largest, item.max_tolerance * error.largest);
  const PassPrediction pass =
      predict_pass(item.problem, item.arithmetic, item.reference, item.of, item.atol, item.rtol);
  EXPECT_NEAR(pass.rms_difference, difference.rms.value(), 0.1 * difference.rms.value());
  EXPECT_NEAR(pass.expected_max_difference, difference.largest, item.max_tolerance * difference.largest);
  EXPECT_NEAR(pass.failing_share, difference.failing, 0.03);
}

void compare_all(const std::vector<Case>& cases) {
  std::uint64_t seed = 0;
  for (const Case& item : cases) compare(item, seed++);
}

/// Sums of `channels` products in size*size outputs.
Problem dot_products(std::int64_t channels, std::int64_t size = 24) {
  Problem problem;
  problem.rank = 1;
  problem.in_channels = channels;
  problem.out_channels = problem.input[0] = size;
  problem.bias = false;
  return problem;
}

Problem plane(std::int64_t in_channels, std::int64_t out_channels, std::int64_t size, std::int64_t kernel) {
  Problem problem;
  problem.in_channels = in_channels;
  problem.out_channels = out_channels;
  problem.input = {size, size, 1};
  problem.kernel = {kernel, kernel, 1};
  return problem;
}

TEST(Prediction, OfEveryOperandRounding) {
  std::vector<Case> cases;
  for (const OperandRounding rounding : all_operand_roundings) {
    for (const auto& [input, weight] : {std::pair{unit, centred}, {gauss, gauss}, {mostly_zero, centred}})
      cases.push_back({dot_products(150), operands_of(input, weight), sum(rounding), chain(exact), 4e-3, 1e-3});
  }
  compare_all(cases);
}

TEST(Prediction, OfPairsOfRoundings) {
  std::vector<Case> cases;
  for (const OperandRounding a : all_operand_roundings) {
    for (const OperandRounding b : all_operand_roundings) {
      // Those that differ at ties alone hardly ever differ: see Moments.
      const bool ties_alone = (a == tf32_rna && b == tf32_rn) || (a != exact && a != tf32_rz && b == fp16 && a != bf16);
      if (a < b && !ties_alone)
        cases.push_back({dot_products(120), operands_of(unit, centred), sum(a), sum(b), 2e-3, 5e-4});
    }
  }
  compare_all(cases);
}

TEST(Prediction, FromShortSumsToLongOnes) {
  std::vector<Case> cases;
  for (const int channels : {8, 50, 300, 2000}) {
    const Problem problem = dot_products(channels, channels > 1000 ? 12 : 24);
    cases.push_back({problem, default_distributions(problem), chain(exact), chain(tf32_rna)});
    cases.push_back({problem, operands_of(unit, unit), chain(tf32_rn), chain(exact), 1e-2, 0});
    cases.push_back({problem, operands_of(gauss, gauss), chain(exact), sum(exact), 1e-6, 1e-6});
    cases.push_back({problem, operands_of(apart, centred), sum(tf32_rz), chain(exact), 1e-2, 1e-3});
    cases.push_back({problem, operands_of(unit, unit), sum(tf32_rz), chain(exact), 1e-2, 5e-4});
  }
  compare_all(cases);
}

TEST(Prediction, OfEveryAccumulation) {
  std::vector<Case> cases;
  for (const int channels : {64, 400}) {
    for (const auto& [input, weight] : {std::pair{unit, centred}, {gauss, gauss}, {unit, unit}}) {
      for (const Arithmetic arithmetic : {Arithmetic{exact, Accumulation::blocked, 16},
                                          {exact, Accumulation::pairwise, 4},
                                          {tf32_rna, Accumulation::pairwise, 32},
                                          {exact, Accumulation::truncated, 8}})
        // Not against a chain: it begins as the first block does, and so shares its errors.
        cases.push_back({dot_products(channels), operands_of(input, weight), arithmetic, sum(tf32_rz), 1e-3, 1e-4});
    }
  }
  compare_all(cases);
}

TEST(Prediction, OfEveryKindOfProblem) {
  Problem padded = plane(8, 32, 8, 5), strided = plane(48, 48, 11, 3), upsampled = plane(16, 24, 5, 3);
  padded.padding_lo = padded.padding_hi = {2, 2, 0};
  strided.stride = {2, 2, 1};
  strided.groups = 3;
  upsampled.kind = Kind::transposed;
  upsampled.stride = {2, 2, 1};
  upsampled.bias = false;
  Problem reflected = padded, smooth = plane(20, 24, 7, 3), residual = plane(10, 24, 7, 3),
          separable = plane(48, 32, 8, 3);
  reflected.padding_mode = PaddingMode::reflect;
  reflected.activation = Activation::relu;
  smooth.activation = Activation::silu;
  residual.residual = true;
  separable.kind = Kind::depthwise_separable;
  std::vector<Case> cases;
  for (const Problem& problem : {padded, strided, upsampled, reflected, smooth, residual, separable}) {
    cases.push_back({problem, default_distributions(problem), chain(exact), sum(tf32_rna)});
    cases.push_back({problem, operands_of(gauss, centred), chain(tf32_rna), sum(exact), 1e-3, 1e-3});
  }
  compare_all(cases);
}

TEST(Prediction, OfSixteenBitOutputs) {
  // Outputs that are stored in few bits differ by a whole spacing or not at all, so the largest difference doubles
  // where the largest output passes a power of two.
  std::vector<Case> cases;
  for (const DType stored : {DType::float16, DType::bfloat16}) {
    Problem problem = dot_products(200);
    problem.out_dtype = stored;
    const double step = stored == DType::float16 ? 0x1p-10 : 0x1p-7;
    cases.push_back({problem, operands_of(gauss, centred), chain(exact), sum(tf32_rna), 0, step / 4, 0.5});
    cases.push_back({problem, operands_of(unit, centred), sum(tf32_rz), sum(exact), step / 2, step / 2, 0.5});
    cases.push_back({problem, operands_of(unit, centred), sum(bf16), sum(exact), step, step, 0.5});
  }
  compare_all(cases);
}

TEST(Prediction, OfSixteenBitAndDoubleOperands) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float64}) {
    SCOPED_TRACE(name(dtype));
    Problem problem = dot_products(1500, 12);
    problem.dtype = dtype;
    problem.out_dtype = dtype == DType::float64 ? dtype : DType::float32;
    problem.contract = default_contract(dtype);
    compare({problem, operands_of(gauss, gauss), chain(exact), sum(exact), 5e-5, 0}, 1);
  }
}

/// kb56, an NVIDIA H200 against cuDNN in TF32 (results/h200/check.json): the reference's RMS error 9.37e-5, that of a
/// binary32 chain 2.74e-7 and at most 4.4e-6 in 130 million outputs; 19.2 % of the outputs beyond 1e-4 + 1e-4 |r|.
TEST(Prediction, OfAMeasuredLayer) {
  Problem problem = plane(64, 128, 512, 1);
  problem.batch = 8;
  problem.bias = false;
  problem.input = {512, 256, 1};
  problem.kernel = {5, 7, 1};
  const OperandDistributions of = default_distributions(problem);
  const ErrorPrediction own = predict_error(problem, chain(exact), of);
  EXPECT_NEAR(2240, own.products, 1e-9);
  EXPECT_NEAR(2.74e-7, own.rms_error, 0.15 * 2.74e-7);
  EXPECT_NEAR(4.4e-6, own.expected_max_error, 0.15 * 4.4e-6);
  const PassPrediction pass = predict_pass(problem, chain(exact), chain(tf32_rna), of, 1e-4, 1e-4);
  EXPECT_NEAR(9.37e-5, pass.rms_difference, 0.15 * 9.37e-5);
  EXPECT_NEAR(0.192, pass.failing_share, 0.15 * 0.192);
  EXPECT_EQ(0, pass.pass_probability);
}

TEST(Prediction, TwoExactSumsOfTheSameOperandsAreEqual) {
  const Problem problem = dot_products(50);
  const PassPrediction pass = predict_pass(problem, sum(tf32_rn), sum(tf32_rn), default_distributions(problem), 0, 0);
  EXPECT_EQ(0, pass.rms_difference);
  EXPECT_EQ(0, pass.expected_max_difference);
  EXPECT_EQ(0, pass.failing_share);
  EXPECT_EQ(1, pass.pass_probability);
}

TEST(Prediction, OfAWholeTensorIsThatOfItsOutputs) {
  Problem problem = dot_products(50, 4);
  const OperandDistributions of = default_distributions(problem);
  const PassPrediction small = predict_pass(problem, chain(exact), chain(tf32_rna), of, 4e-4, 0);
  problem.batch = 10;
  const PassPrediction large = predict_pass(problem, chain(exact), chain(tf32_rna), of, 4e-4, 0);
  EXPECT_EQ(small.failing_share, large.failing_share);
  EXPECT_GT(small.pass_probability, 0.9);
  EXPECT_NEAR(std::pow(small.pass_probability, 10), large.pass_probability, 1e-12);
  EXPECT_GT(large.expected_max_difference, small.expected_max_difference);
}

TEST(Prediction, OutputsThatNoTapReachesHaveNoError) {
  Problem problem = dot_products(4, 5);
  problem.kind = Kind::transposed;
  problem.stride[0] = 3;
  const auto lengths = sum_lengths(problem);
  ASSERT_EQ(2u, lengths.size());
  EXPECT_EQ(0, lengths[0].products);
  EXPECT_NEAR(8.0 / 13, lengths[0].share, 1e-12);
  EXPECT_EQ(4, lengths[1].products);
  const OperandDistributions of = default_distributions(problem);
  const double everywhere = predict_error(dot_products(4, 5), chain(tf32_rna), of).rms_error;
  EXPECT_NEAR(everywhere * std::sqrt(5.0 / 13), predict_error(problem, chain(tf32_rna), of).rms_error,
              1e-3 * everywhere);
}

TEST(Prediction, OfOutputsThatSeePaddingAlone) {
  Problem problem = plane(3, 4, 1, 1);
  problem.kind = Kind::depthwise_separable;
  problem.input = {1, 1, 1};
  problem.padding_lo = {1, 0, 0};
  problem.stride = {2, 1, 1};
  problem.bias = false;
  const ErrorPrediction error = predict_error(problem, chain(tf32_rna), default_distributions(problem));
  EXPECT_EQ(0, error.rms_value);
  EXPECT_EQ(0, error.rms_error);
  EXPECT_EQ(0, error.expected_max_error);
}

TEST(Prediction, CountsTheTapsInsideTheInput) {
  Problem problem = dot_products(2, 6);
  problem.kernel[0] = 3;
  problem.padding_lo[0] = problem.padding_hi[0] = 2;
  problem.dilation[0] = 2;  // 1 tap, 1, 2, 2, 2, 2, 1, 1 from the left: offsets -2, 0, 2 over 6 positions
  double mean = 0;
  for (const auto& [products, share] : sum_lengths(problem)) mean += products * share;
  EXPECT_NEAR(2 * (2 + 2 + 3 + 3 + 2 + 2) / 6.0, mean, 1e-12);
  problem.padding_mode = PaddingMode::circular;
  ASSERT_EQ(1u, sum_lengths(problem).size());
  EXPECT_EQ(6, sum_lengths(problem)[0].products);
}

/// Against a million roundings. Pairs that differ at ties alone do so in 61 of them: hence 40 %.
TEST(Prediction, MomentsOfRoundingDifferences) {
  for (const Distribution& of : {unit, Distribution::normal(-1, 3), Distribution::uniform(-4e-5, 3e-5)}) {
    Problem problem = dot_products(1000, 1000);
    problem.out_channels = 1;
    const DrawnOperands drawn(problem, operands_of(of, unit), 3);
    const auto* values = reinterpret_cast<const float*>(drawn.operands().input.data());
    for (const OperandRounding a : all_operand_roundings) {
      for (const OperandRounding b : all_operand_roundings) {
        SCOPED_TRACE(std::string(name(a)) + " " + std::string(name(b)) + " of " + std::to_string(of.first));
        double square = 0, moment = 0, value = 0;
        for (int i = 0; i < 1000000; ++i) {
          const double d = double{round_operand(values[i], a)} - double{round_operand(values[i], b)};
          square += d * d / 1e6;
          moment += d * values[i] / 1e6;
          value += double{values[i]} * values[i] / 1e6;
        }
        const JointMoments expected = joint_moments(of, DType::float32, a, b);
        const bool ties_alone = expected[2][0] < 1e-9 * expected[0][2];
        EXPECT_NEAR(expected[0][2], value, 0.01 * value);
        EXPECT_NEAR(expected[2][0], square, (ties_alone ? 0.4 : 0.03) * square);
        EXPECT_NEAR(expected[1][1], moment, 0.03 * std::abs(moment) + 5e-3 * std::sqrt(square * value));
      }
    }
  }
}

TEST(Prediction, RefusesWhatHasNoPrediction) {
  const Problem problem = dot_products(4);
  const OperandDistributions good = operands_of(unit, centred);
  const auto refused = [&](const Problem& p, const Arithmetic& arithmetic, const OperandDistributions& of) {
    EXPECT_THROW((void)predict_error(p, arithmetic, of), Error);
    EXPECT_THROW((void)predict_pass(p, chain(exact), arithmetic, of, 1e-4, 1e-4), Error);
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const Distribution& bad :
       {Distribution::uniform(1, 1), Distribution::uniform(1, 0), Distribution::normal(0, 0),
        Distribution::normal(0, -1), Distribution::uniform(0, nan), Distribution::normal(nan, 1),
        Distribution::uniform(-infinity, infinity), Distribution::uniform(0, 1e30), Distribution::uniform(0, 1e-30),
        Distribution::uniform(0, 1, 0), Distribution::uniform(0, 1, 1.5), Distribution::uniform(0, 1, nan)}) {
    refused(problem, chain(exact), operands_of(bad, unit));
    refused(problem, chain(exact), operands_of(unit, bad));
  }
  refused(problem, {exact, Accumulation::blocked, 0}, good);
  refused(problem, chain(fp16), operands_of(Distribution::uniform(0, 1e5), unit));
  Problem twice = problem;
  twice.dtype = twice.out_dtype = DType::float64;
  twice.contract = Contract::fp64;
  refused(twice, chain(tf32_rna), good);
  for (const double bad : {-1.0, nan, infinity}) {
    EXPECT_THROW((void)predict_pass(problem, chain(exact), chain(exact), good, bad, 0), Error);
    EXPECT_THROW((void)predict_pass(problem, chain(exact), chain(exact), good, 0, bad), Error);
  }
  Problem stored = problem;
  stored.out_dtype = DType::float16;
  refused(stored, chain(exact), operands_of(Distribution::uniform(-1e3, 1e3), Distribution::uniform(-1e3, 1e3)));
  Problem invalid = problem;
  invalid.groups = 3;
  refused(invalid, chain(exact), good);
}

TEST(Prediction, OfAnyProblemIsFinite) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e7);
    SCOPED_TRACE(seed);
    const OperandDistributions of = default_distributions(problem);
    const Arithmetic arithmetic = arithmetic_of(problem.contract, problem.tie_rule);
    const ErrorPrediction error = predict_error(problem, arithmetic, of);
    EXPECT_TRUE(std::isfinite(error.rms_value) && error.rms_value >= 0);
    EXPECT_TRUE(std::isfinite(error.rms_error) && error.rms_error >= 0);
    EXPECT_GE(error.expected_max_error, 0);
    EXPECT_LE(error.rms_error, 0.02 * error.rms_value + 1e-30);
    const PassPrediction pass = predict_pass(problem, arithmetic, chain(exact), of, 1e-4, 1e-4);
    EXPECT_TRUE(std::isfinite(pass.rms_difference) && std::isfinite(pass.expected_max_difference));
    EXPECT_TRUE(pass.failing_share >= 0 && pass.failing_share <= 1);
    EXPECT_TRUE(pass.pass_probability >= 0 && pass.pass_probability <= 1);
  }
}

TEST(Prediction, OfHugeProblemsIsQuickAndFinite) {
  Problem problem = dot_products(1, 1000000);
  problem.out_channels = 1;
  problem.batch = 1000;
  problem.kind = Kind::transposed;
  problem.kernel[0] = problem.stride[0] = 100000;
  problem.dilation[0] = 3;
  const ErrorPrediction error = predict_error(problem, chain(tf32_rna), default_distributions(problem));
  EXPECT_NEAR(1, error.products, 0.1);
  EXPECT_GT(error.rms_error, 0);
  EXPECT_LT(error.expected_max_error, 1e-2);
}

}  // namespace
}  // namespace tapconv
