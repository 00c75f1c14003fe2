#include "cpu/engine.hpp"

#include <gtest/gtest.h>

#include "cpu_cases.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::cpu_cases;
using testing::CpuCase;
using testing::Expected;
using testing::naive_convolution;
using testing::random_values;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Operands {
  std::vector<float> input, weight, bias;
};

Operands draw(const Problem& problem, std::uint32_t seed, double zeros = 0) {
  return {random_values(element_count(input_shape(problem)), seed, zeros),
          random_values(element_count(weight_shape(problem)), seed + 1),
          random_values(problem.bias ? problem.out_channels : 0, seed + 2)};
}

/// Runs anything with set_weights() and run() into an output between two guard zones, at an address that is a multiple
/// of 4 only.
template <class Runner>
std::vector<float> compute(Runner& runner, const Problem& problem, const Operands& operands) {
  constexpr std::size_t guard = 33;
  constexpr float untouched = 1234.5F;
  const auto count = static_cast<std::size_t>(element_count(output_shape(problem)));
  std::vector<float> output(count + 2 * guard, untouched);
  runner.set_weights(operands.weight, operands.bias);
  runner.run(operands.input, std::span(output).subspan(guard, count));
  for (std::size_t i = 0; i < guard; ++i) {
    EXPECT_EQ(output[i], untouched) << "written before the output";
    EXPECT_EQ(output[count + guard + i], untouched) << "written behind the output";
  }
  return {output.begin() + guard, output.end() - guard};
}

std::vector<float> compute(const Problem& problem, const Operands& operands, int threads = 0) {
  cpu::Convolution convolution(problem, threads);
  return compute(convolution, problem, operands);
}

std::vector<Expected> expect(const Problem& problem, Operands operands) {
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  for (float& value : operands.input) value = round_operand(value, rounding);
  for (float& value : operands.weight) value = round_operand(value, rounding);
  return naive_convolution(problem, operands.input, operands.weight, operands.bias);
}

/// The first output that breaks the contract, or success. NaN must meet NaN, infinity the same infinity.
::testing::AssertionResult keeps_contract(const Problem& problem, const std::vector<float>& output,
                                          const std::vector<Expected>& expected) {
  if (output.size() != expected.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < output.size(); ++i) {
    const auto value = static_cast<double>(output[i]);
    const double want = expected[i].value;
    const bool right =
        std::isfinite(want)
            ? std::abs(value - want) <= error_bound(problem.contract, expected[i].products, expected[i].magnitude)
            : (std::isnan(want) ? std::isnan(value) : value == want);
    if (!right) return ::testing::AssertionFailure() << "output " << i << " is " << value << ", should be " << want;
  }
  return ::testing::AssertionSuccess();
}

TEST(CpuEngine, KeepsEveryContractOnDenseAndSparseData) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32}) {
      for (const double zeros : {0.0, 0.95}) {
        const Problem problem = tested.problem(contract);
        const Operands operands = draw(problem, 7, zeros);
        EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands)))
            << name(contract) << ", zeros " << zeros << ", " << cpu::Convolution(problem).implementation();
      }
    }
  }
}

TEST(CpuEngine, IsExactWhereEverySumIsExact) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    Operands operands = draw(problem, 11);
    for (std::vector<float>* values : {&operands.input, &operands.weight, &operands.bias})
      for (float& value : *values) value = std::round(value * 4);
    const std::vector<float> output = compute(problem, operands);
    const std::vector<Expected> expected = expect(problem, operands);
    for (std::size_t i = 0; i < output.size(); ++i) ASSERT_EQ(output[i], expected[i].value) << i;
  }
}

TEST(CpuEngine, SpreadsNonFiniteInputsExactlyAsFar) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem();
    Operands operands = draw(problem, 13);
    const std::size_t count = operands.input.size();
    operands.input[count / 2] = nan;
    operands.input[count / 3] = infinity;
    operands.input[count - 1] = -infinity;
    EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands)));
  }
}

TEST(CpuEngine, LetsNonFiniteWeightsMeetThePadding) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    for (const float special : {-infinity, nan}) {
      const Problem problem = tested.problem();
      Operands operands = draw(problem, 17);
      operands.weight.front() = special;
      EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands))) << special;
      operands.weight.front() = 0.5F;
      operands.weight.back() = special;
      EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands))) << special;
    }
  }
}

TEST(CpuEngine, KeepsSubnormals) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    Operands operands = draw(problem, 19);
    for (float& value : operands.input) value *= 0x1p-130F;  // subnormal themselves
    for (float& value : operands.bias) value *= 0x1p-135F;
    EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands))) << "subnormal inputs";
    operands = draw(problem, 23, 0.95);
    for (float& value : operands.input) value *= 0x1p-70F;  // normal, but the products are not
    for (float& value : operands.weight) value *= 0x1p-68F;
    for (float& value : operands.bias) value *= 0x1p-135F;
    EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands))) << "subnormal products";
  }
}

TEST(CpuEngine, EveryReferenceComputesTheSame) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    const Operands operands = draw(problem, 29);
    const std::vector<Expected> expected = expect(problem, operands);
    std::vector<cpu::Reference> references = cpu::references(problem);
    ASSERT_FALSE(references.empty());
    std::vector<std::string> names;
    for (cpu::Reference& reference : references) {
      EXPECT_TRUE(keeps_contract(problem, compute(reference, problem, operands), expected)) << reference.name();
      names.push_back(reference.name());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "two references of one name";
  }
}

TEST(CpuEngine, NeverFallsBackToNaiveLoops) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    EXPECT_FALSE(cpu::Convolution(tested.problem()).implementation().starts_with("ref"));
  }
}

TEST(CpuConvolution, KeepsTheContractOnRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Problem problem = testing::RandomProblem(seed).draw(3e5);
    const Operands operands = draw(problem, static_cast<std::uint32_t>(seed));
    EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands))) << "seed " << seed;
  }
}

const CpuCase& padded_case() {
  static const CpuCase found = *std::find_if(cpu_cases().begin(), cpu_cases().end(),
                                             [](const CpuCase& candidate) { return candidate.name == "2d_same"; });
  return found;
}

TEST(CpuConvolution, GoesBackAndForthBetweenFiniteAndOtherWeights) {
  for (const Contract contract : {Contract::fp32, Contract::tf32}) {
    const Problem problem = padded_case().problem(contract);
    cpu::Convolution convolution(problem);
    const std::string usual = convolution.implementation();
    Operands operands = draw(problem, 31);
    for (const float first : {0.25F, infinity, 0.5F, nan, 0.75F}) {
      operands.weight.front() = first;
      operands.input = draw(problem, static_cast<std::uint32_t>(first == first) + 37).input;
      EXPECT_TRUE(keeps_contract(problem, compute(convolution, problem, operands), expect(problem, operands))) << first;
    }
    EXPECT_EQ(convolution.implementation(), usual);
  }
}

TEST(CpuConvolution, TreatsWeightsThatRoundToInfinityAsInfinite) {
  const Problem problem = padded_case().problem(Contract::tf32);
  Operands operands = draw(problem, 41);
  operands.weight.front() = std::numeric_limits<float>::max();
  const std::vector<Expected> expected = expect(problem, operands);
  ASSERT_TRUE(std::isnan(expected.front().value));
  EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expected));
}

TEST(CpuConvolution, RoundsBothOperandsByTheTieRule) {
  Problem problem{.bias = false, .contract = Contract::tf32};
  const float tie = 1 + 0x1p-11F;  // halfway between two TF32 numbers
  for (const Operands& operands : {Operands{{tie}, {1.0F}, {}}, Operands{{1.0F}, {tie}, {}}}) {
    problem.tie_rule = TieRule::away;
    EXPECT_EQ(compute(problem, operands).front(), 1 + 0x1p-10F);
    problem.tie_rule = TieRule::even;
    EXPECT_EQ(compute(problem, operands).front(), 1.0F);
  }
}

TEST(CpuConvolution, KeepsTheWeightsUntilTheNextCall) {
  const Problem problem = padded_case().problem();
  Operands operands = draw(problem, 43);
  const std::vector<float> first = compute(problem, operands);
  cpu::Convolution convolution(problem);
  std::vector<float> weight = operands.weight, bias = operands.bias, output(first.size());
  convolution.set_weights(weight, bias);
  std::fill(weight.begin(), weight.end(), nan);
  std::fill(bias.begin(), bias.end(), nan);
  cpu::Convolution moved = std::move(convolution);
  moved.run(operands.input, output);
  EXPECT_EQ(output, first);
  moved.run(operands.input, output);
  EXPECT_EQ(output, first) << "a second run differs";
}

TEST(CpuConvolution, GivesTheSameBitsAtAnyNumberOfThreads) {
  const Problem problem = padded_case().problem();
  const Operands operands = draw(problem, 47);
  const std::vector<float> one = compute(problem, operands, 1);
  EXPECT_EQ(compute(problem, operands, 2), one);
  EXPECT_EQ(compute(problem, operands, 5), one);
}

/// The message of the Error{usage} that `body` throws.
template <class Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    return error.what();
  }
  return "accepted";
}

TEST(CpuConvolution, RefusesWhatDoesNotFit) {
  const Problem problem = padded_case().problem();
  const Operands right = draw(problem, 53);
  std::vector<float> output(static_cast<std::size_t>(element_count(output_shape(problem))));
  const std::span<float> whole(output);
  cpu::Convolution convolution(problem);
  const auto weights = [&](std::span<const float> weight, std::span<const float> bias) {
    return refusal([&] { convolution.set_weights(weight, bias); });
  };
  const auto run = [&](std::span<const float> input, std::span<float> into) {
    return refusal([&] { convolution.run(input, into); });
  };
  EXPECT_EQ(run(right.input, whole), "weight: none set; valid: set_weights() before run()");
  EXPECT_EQ(weights(std::span(right.weight).first(10), right.bias), "weight has 10 elements; valid: 9216");
  EXPECT_EQ(weights(right.weight, {}), "bias has 0 elements; valid: 32");
  convolution.set_weights(right.weight, right.bias);
  EXPECT_EQ(run(std::span(right.input).first(3), whole), "input has 3 elements; valid: 13440");
  EXPECT_EQ(run(right.input, whole.first(3)), "output has 3 elements; valid: 13440");
  EXPECT_EQ(refusal([&] { cpu::Convolution(problem, -1); }), "threads = -1; valid: 1 or more, or 0 for all cores");
}

TEST(CpuConvolution, RefusesWhatOneDnnHoldsIn32Bits) {
  const auto plan = [](const std::string& text) { return refusal([&] { cpu::Convolution(parse_problem(text)); }); };
  EXPECT_EQ(plan("Conv1d(1, 1, 1) @ 1x1x1073741825"),
            "padded input size = 1073741825; valid on the CPU: at most 1073741824");
  EXPECT_EQ(plan("Conv1d(1, 1, 1, stride=9, padding=1000000000000) @ 1x1x1"),
            "padded input size = 2000000000001; valid on the CPU: at most 1073741824");
  EXPECT_EQ(plan("Conv2d(3, 1, 1, stride=2) @ 1x3x32768x32768"),
            "elements of a padded input image = 3221225472; valid on the CPU: at most 2147483648");
  EXPECT_EQ(plan("Conv2d(1, 3, 1) @ 1x1x32768x32768"),
            "elements of an output image = 3221225472; valid on the CPU: at most 2147483648");
}

TEST(CpuConvolution, TakesStepsThatAreNeverTaken) {
  const Problem problem = parse_problem("Conv2d(3, 4, 1, stride=5000000000, dilation=7000000000) @ 2x3x5x6");
  const Operands operands = draw(problem, 59);
  EXPECT_TRUE(keeps_contract(problem, compute(problem, operands), expect(problem, operands)));
}

TEST(CpuConvolution, ReordersOnlyWhereTheTapsOutweighIt) {
  const auto tensors = [](const std::string& text) {
    const std::string all = cpu::Convolution(parse_problem(text)).implementation();
    return all.substr(all.find(", ") + 2);
  };
  EXPECT_NE(tensors("Conv2d(64, 128, (5, 7)) @ 1x64x32x32"), "contiguous tensors");
  EXPECT_EQ(tensors("Conv1d(64, 128, 3, stride=3, dilation=4) @ 1x64x999"), "contiguous tensors");
  EXPECT_EQ(tensors("Conv2d(64, 128, 1) @ 1x64x32x32"), "contiguous tensors");
}

TEST(CpuConvolution, NamesItsLibrary) { EXPECT_TRUE(cpu::version().starts_with("3.")) << cpu::version(); }

}  // namespace
}  // namespace tapconv
