// The CPU engine on plain convolutions, and how its object is used.
#include "cpu/engine.hpp"

#include <gtest/gtest.h>

#include "cpu_cases.hpp"
#include "cpu_tensors.hpp"
#include "special_numbers.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::Bytes;
using testing::compute;
using testing::cpu_cases;
using testing::CpuCase;
using testing::CpuTensors;
using testing::draw_tensors;
using testing::expected_outputs;
using testing::Fill;
using testing::infinity;
using testing::keeps_contract;
using testing::nan;
using testing::run_guarded;
using testing::set_value;
using testing::size_of;
using testing::values_of;

constexpr DType f32 = DType::float32;

TEST(CpuEngine, KeepsEveryContractOnDenseSparseAndSubnormalData) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    for (const Contract contract : {Contract::ieee, Contract::tf32}) {  // fp32 is computed as ieee is
      for (const Fill fill : {Fill::uniform, Fill::sparse, Fill::subnormal}) {
        const Problem problem = tested.problem(contract);
        EXPECT_TRUE(keeps_contract(problem, draw_tensors(problem, 7, fill)))
            << name(contract) << ", fill " << static_cast<int>(fill);
      }
    }
  }
}

TEST(CpuEngine, IsExactWhereEverySumIsExact) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    const CpuTensors tensors = draw_tensors(problem, 11, Fill::integers);
    const std::vector<double> output = values_of(problem, compute(problem, tensors));
    const std::vector<OracleOutput> expected = expected_outputs(problem, tensors);
    for (std::size_t i = 0; i < output.size(); ++i) ASSERT_EQ(output[i], expected[i].value) << i;
  }
}

TEST(CpuEngine, SpreadsNonFiniteInputsExactlyAsFar) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem();
    CpuTensors tensors = draw_tensors(problem, 13);
    const std::size_t count = size_of(tensors.input, f32);
    set_value(tensors.input, f32, count / 2, nan);
    set_value(tensors.input, f32, count / 3, infinity);
    set_value(tensors.input, f32, count - 1, -infinity);
    EXPECT_TRUE(keeps_contract(problem, tensors));
  }
}

TEST(CpuEngine, LetsNonFiniteWeightsMeetThePadding) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem();
    for (const double special : {-infinity, nan}) {
      CpuTensors tensors = draw_tensors(problem, 17);
      set_value(tensors.weight, f32, 0, special);
      EXPECT_TRUE(keeps_contract(problem, tensors)) << special;
      set_value(tensors.weight, f32, 0, 0.5);
      set_value(tensors.weight, f32, size_of(tensors.weight, f32) - 1, special);
      EXPECT_TRUE(keeps_contract(problem, tensors)) << special;
    }
  }
}

TEST(CpuEngine, KeepsSubnormalProducts) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    CpuTensors tensors = draw_tensors(problem, 23, Fill::sparse);
    for (Bytes* tensor : {&tensors.input, &tensors.weight, &tensors.bias}) {  // normal, but the products are not
      const double scale = tensor == &tensors.bias ? 0x1p-135 : 0x1p-69;
      for (std::size_t i = 0; i < size_of(*tensor, f32); ++i)
        set_value(*tensor, f32, i, scale * load_element(tensor->data(), f32, static_cast<std::int64_t>(i)));
    }
    EXPECT_TRUE(keeps_contract(problem, tensors));
  }
}

TEST(CpuEngine, EveryReferenceComputesTheSame) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem problem = tested.problem(Contract::ieee);
    const CpuTensors tensors = draw_tensors(problem, 29);
    std::vector<cpu::Reference> references = cpu::references(problem);
    ASSERT_FALSE(references.empty());
    std::vector<std::string> names;
    for (cpu::Reference& reference : references) {
      reference.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(reference, problem, tensors))) << reference.name();
      names.push_back(reference.name());
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "two references of one name";
  }
}

TEST(CpuEngine, NeverFallsBackToNaiveLoopsOrCopiesForNothing) {
  for (const CpuCase& tested : cpu_cases()) {
    SCOPED_TRACE(tested.name);
    const std::string implementation = cpu::Convolution(tested.problem()).implementation();
    EXPECT_EQ(implementation.find("ref"), std::string::npos) << implementation;
    EXPECT_EQ(implementation.find("after"), std::string::npos) << implementation;
    EXPECT_EQ(implementation.find("then"), std::string::npos) << implementation;
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
    for (const double first : {0.25, infinity, 0.5, nan, 0.75}) {
      CpuTensors tensors = draw_tensors(problem, std::isnan(first) ? 31 : 37);
      set_value(tensors.weight, f32, 0, first);
      convolution.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors))) << first;
    }
    EXPECT_EQ(convolution.implementation(), usual);
  }
}

TEST(CpuConvolution, TreatsWeightsThatRoundToInfinityAsInfinite) {
  const Problem problem = padded_case().problem(Contract::tf32);
  CpuTensors tensors = draw_tensors(problem, 41);
  set_value(tensors.weight, f32, 0, std::numeric_limits<float>::max());
  ASSERT_TRUE(std::isnan(expected_outputs(problem, tensors).front().value));
  EXPECT_TRUE(keeps_contract(problem, tensors));
}

TEST(CpuConvolution, RoundsBothOperandsByTheTieRule) {
  Problem problem{.bias = false, .contract = Contract::tf32};
  const double tie = 1 + 0x1p-11;  // halfway between two TF32 numbers
  for (const auto& [input, weight] : {std::pair{tie, 1.0}, std::pair{1.0, tie}}) {
    CpuTensors tensors = draw_tensors(problem, 1);
    set_value(tensors.input, f32, 0, input);
    set_value(tensors.weight, f32, 0, weight);
    problem.tie_rule = TieRule::away;
    EXPECT_EQ(values_of(problem, compute(problem, tensors)).front(), 1 + 0x1p-10);
    problem.tie_rule = TieRule::even;
    EXPECT_EQ(values_of(problem, compute(problem, tensors)).front(), 1.0);
  }
}

TEST(CpuConvolution, KeepsTheWeightsUntilTheNextCall) {
  const Problem problem = padded_case().problem();
  CpuTensors tensors = draw_tensors(problem, 43);
  const Bytes first = compute(problem, tensors);
  cpu::Convolution convolution(problem);
  convolution.set_weights(tensors.weights());
  std::fill(tensors.weight.begin(), tensors.weight.end(), std::byte{0xff});
  std::fill(tensors.bias.begin(), tensors.bias.end(), std::byte{0xff});
  cpu::Convolution moved = std::move(convolution);
  EXPECT_EQ(run_guarded(moved, problem, tensors), first);
  EXPECT_EQ(run_guarded(moved, problem, tensors), first) << "a second run differs";
}

TEST(CpuConvolution, GivesTheSameBitsAtAnyNumberOfThreads) {
  for (Problem problem : {padded_case().problem(), padded_case().problem(Contract::tf32)}) {
    problem.activation = Activation::relu;  // so that every step runs on all threads
    const CpuTensors tensors = draw_tensors(problem, 47);
    const Bytes one = compute(problem, tensors, 1);
    EXPECT_EQ(compute(problem, tensors, 2), one);
    EXPECT_EQ(compute(problem, tensors, 5), one);
  }
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
  const CpuTensors right = draw_tensors(problem, 53);
  Bytes output(static_cast<std::size_t>(element_count(output_shape(problem))) * sizeof(float));
  const std::span<std::byte> whole(output);
  cpu::Convolution convolution(problem);
  const auto weights = [&](const cpu::Weights& given) { return refusal([&] { convolution.set_weights(given); }); };
  const auto run = [&](std::span<const std::byte> input, std::span<const std::byte> residual,
                       std::span<std::byte> into) { return refusal([&] { convolution.run(input, residual, into); }); };
  cpu::Weights given = right.weights();
  EXPECT_EQ(run(right.input, {}, whole), "weight: none set; valid: set_weights() before run()");
  given.weight = given.weight.first(10);
  EXPECT_EQ(weights(given), "weight has 10 bytes; valid: 36864");
  given = right.weights();
  given.bias = {};
  EXPECT_EQ(weights(given), "bias has 0 bytes; valid: 128");
  given = right.weights();
  given.pointwise_weight = given.weight;
  EXPECT_EQ(weights(given), "pointwise_weight has 36864 bytes; valid: 0");
  convolution.set_weights(right.weights());
  EXPECT_EQ(run(std::span(right.input).first(3), {}, whole), "input has 3 bytes; valid: 53760");
  EXPECT_EQ(run(right.input, right.input, whole), "residual has 53760 bytes; valid: 0");
  EXPECT_EQ(run(right.input, {}, whole.first(3)), "output has 3 bytes; valid: 53760");
  EXPECT_EQ(refusal([&] { cpu::Convolution(problem, -1); }), "threads = -1; valid: 1 to 4096, or 0 for all cores");
  EXPECT_EQ(refusal([&] { cpu::Convolution(problem, 2147483647); }),
            "threads = 2147483647; valid: 1 to 4096, or 0 for all cores");
  EXPECT_EQ(refusal([] {
              cpu::Convolution({.dtype = DType::float64, .out_dtype = DType::float64, .contract = Contract::fp64});
            }),
            "dtype = float64; valid for oneDNN: float32, float16, bfloat16");
}

TEST(CpuConvolution, RefusesWhatOneDnnHoldsIn32Bits) {
  const auto plan = [](const Problem& problem) { return refusal([&] { cpu::Convolution{problem}; }); };
  EXPECT_EQ(plan({.rank = 1, .input = {1073741825, 1, 1}}),
            "padded input size = 1073741825; valid on the CPU: at most 1073741824");
  EXPECT_EQ(plan({.rank = 1, .stride = {9, 1, 1}, .padding_lo = {1000000000000}, .padding_hi = {1000000000000}}),
            "padded input size = 2000000000001; valid on the CPU: at most 1073741824");
  EXPECT_EQ(plan({.in_channels = 3, .input = {32768, 32768, 1}, .stride = {2, 2, 1}}),
            "elements of a padded input image = 3221225472; valid on the CPU: at most 2147483648");
  EXPECT_EQ(plan({.out_channels = 3, .input = {32768, 32768, 1}}),
            "elements of an output image = 3221225472; valid on the CPU: at most 2147483648");
  EXPECT_EQ(plan({.kind = Kind::transposed, .rank = 1, .input = {3, 1, 1}, .stride = {1000000000, 1, 1}}),
            "output size = 2000000001; valid on the CPU: at most 1073741824");
}

TEST(CpuConvolution, TakesStepsThatAreNeverTaken) {
  Problem problem{.batch = 2,
                  .in_channels = 3,
                  .out_channels = 4,
                  .input = {5, 6, 1},
                  .stride = {5000000000, 5000000000, 1},
                  .dilation = {7000000000, 7000000000, 1}};
  EXPECT_TRUE(keeps_contract(problem, draw_tensors(problem, 59)));
  problem.kind = Kind::transposed;
  problem.input = {1, 1, 1};
  EXPECT_TRUE(keeps_contract(problem, draw_tensors(problem, 59)));
}

TEST(CpuConvolution, ReordersOnlyWhereTheTapsOutweighIt) {
  const auto tensors = [](const Problem& problem) {
    const std::string all = cpu::Convolution(problem).implementation();
    return all.substr(all.find(", ") + 2);
  };
  const Problem dense{.in_channels = 64, .out_channels = 128, .input = {32, 32, 1}, .kernel = {5, 7, 1}};
  EXPECT_NE(tensors(dense), "contiguous tensors");
  EXPECT_EQ(tensors({.rank = 1,
                     .in_channels = 64,
                     .out_channels = 128,
                     .input = {999, 1, 1},
                     .kernel = {3, 1, 1},
                     .stride = {3, 1, 1},
                     .dilation = {4, 1, 1}}),
            "contiguous tensors");
  EXPECT_EQ(tensors({.in_channels = 64, .out_channels = 128, .input = {32, 32, 1}}), "contiguous tensors");
}

TEST(CpuConvolution, NamesItsLibrary) { EXPECT_TRUE(cpu::version().starts_with("3.")) << cpu::version(); }

}  // namespace
}  // namespace tapconv
