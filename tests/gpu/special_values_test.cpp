// NaN, infinities and subnormals on every solver, as docs/numerics.md says.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../unit/all_outputs.hpp"
#include "../unit/problem_matrix.hpp"
#include "problem/element_places.hpp"
#include "trial.hpp"

namespace tapconv {
namespace {

using testing::MatrixArithmetic;
using testing::SolverPlan;

using SpecialValues = testing::GpuTest;

Problem with(const char* text, const MatrixArithmetic& arithmetic) {
  Problem problem = parse_problem(text);
  problem.dtype = problem.out_dtype = arithmetic.dtype;
  problem.contract = arithmetic.contract;
  problem.tie_rule = arithmetic.tie_rule;
  return problem;
}

std::vector<SolverPlan> loaded(const std::vector<Problem>& problems, const DeviceModel& model) {
  std::vector<SolverPlan> plans = testing::plans_of(problems, model);
  testing::compile_ahead(cuda::Context::get(0), plans);
  for (SolverPlan& plan : plans) plan.load(cuda::Context::get(0));
  return plans;
}

TEST_F(SpecialValues, EveryNanStaysNan) {
  std::vector<Problem> problems;
  for (const char* text : {"Conv2d(3, 5, 3, padding=1) @ 2x3x7x9", "Conv2d(16, 24, 3, padding=1) @ 2x16x7x9",
                           "Conv2d(16, 24, 3, padding=1, layout=channels_last) @ 2x16x7x9",
                           "ConvTranspose2d(5, 6, 3, stride=2) @ 1x5x6x7"}) {
    for (const MatrixArithmetic& arithmetic : testing::all_arithmetics()) {
      if (arithmetic.dtype == DType::float32) problems.push_back(with(text, arithmetic));
    }
  }
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    CudaTensors tensors(problem, context());
    // Cutting the second one's bits makes an infinity; rounding the first one by a carry makes -0.
    for (const std::uint32_t nan : {0x7fffffffu, 0x7f800001u, 0x7fc00000u}) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        for (const bool in_input : {true, false}) {
          ExactOperands operands(problem, 4);
          std::vector<std::byte>& target = in_input ? operands.tensors.input : operands.tensors.weight;
          const std::uint32_t bits = nan | sign;
          std::memcpy(target.data() + target.size() / 8 * 4, &bits, sizeof bits);
          tensors.upload(operands.tensors.operands());
          EXPECT_EQ("", testing::run_guarded(plan, tensors));
          EXPECT_EQ("", testing::judge(problem, tensors)) << std::hex << bits << (in_input ? " in the input" : "");
          const std::vector<double> values = tensors.download().values();
          EXPECT_TRUE(std::ranges::any_of(values, [](double value) { return std::isnan(value); }));
        }
      }
    }
  }
}

TEST_F(SpecialValues, AnInfiniteWeightMeetsPaddingAsZerosAndAnInfiniteInputStaysInfinite) {
  std::vector<Problem> problems;
  for (const MatrixArithmetic& arithmetic : testing::all_arithmetics())
    problems.push_back(with("Conv1d(1, 1, 3, padding=1, bias=False) @ 1x1x8", arithmetic));
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto compute = [&](std::int64_t infinite_input, std::int64_t infinite_weight) {
      HostTensors host(problem);
      for (int i = 0; i < 8; ++i)
        store_element(host.input.data(), problem.dtype, i, i == infinite_input ? infinity : 1);
      for (int i = 0; i < 3; ++i)
        store_element(host.weight.data(), problem.dtype, i, i == infinite_weight ? infinity : 1);
      CudaTensors tensors(problem, context());
      tensors.upload(host.operands());
      EXPECT_EQ("", testing::run_guarded(plan, tensors));
      return tensors.download().values();
    };
    const std::vector<double> weight = compute(-1, 0);
    EXPECT_TRUE(std::isnan(weight[0])) << "infinity times the zero before the input";
    for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(infinity, weight[i]) << i;
    const std::vector<double> input = compute(4, -1);
    EXPECT_EQ((std::vector<double>{2, 3, 3, infinity, infinity, infinity, 3, 2}), input);
  }
}

/// What a TF32 number nearest to it would make infinite.
TEST_F(SpecialValues, TheLargestFloatIsFinite) {
  std::vector<Problem> problems;
  for (const Contract contract : {Contract::ieee, Contract::fp32}) {
    for (const char* text :
         {"Conv1d(16, 8, 3, padding=1, bias=False) @ 1x16x32", "Conv1d(48, 8, 1, bias=False) @ 1x48x32",
          "ConvTranspose1d(16, 8, 3, stride=2, padding=1, bias=False) @ 1x16x32"})
      problems.push_back(with(text, {.dtype = DType::float32, .contract = contract}));
  }
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    for (const bool in_input : {true, false}) {
      HostTensors host(problem);
      for (std::size_t i = 0; i < host.input.size() / sizeof(float); ++i)
        store_element(host.input.data(), problem.dtype, static_cast<std::int64_t>(i), 0.25);
      for (std::size_t i = 0; i < host.weight.size() / sizeof(float); ++i)
        store_element(host.weight.data(), problem.dtype, static_cast<std::int64_t>(i), 0.25);
      store_element((in_input ? host.input : host.weight).data(), problem.dtype, 0, std::numeric_limits<float>::max());
      CudaTensors tensors(problem, context());
      tensors.upload(host.operands());
      EXPECT_EQ("", testing::run_guarded(plan, tensors));
      EXPECT_EQ("", testing::judge(problem, tensors));
      EXPECT_TRUE(std::ranges::all_of(tensors.download().values(), [](double value) { return std::isfinite(value); }));
    }
  }
}

/// Multiplies a tensor by a power of two.
void scale(std::vector<std::byte>& tensor, DType dtype, double factor) {
  const auto count = static_cast<std::int64_t>(tensor.size() / element_bytes(dtype));
  for (std::int64_t i = 0; i < count; ++i)
    store_element(tensor.data(), dtype, i, factor * load_element(tensor.data(), dtype, i));
}

/// Exact integers in units of the least subnormal number of the type.
TEST_F(SpecialValues, SubnormalOperandsAndSumsAreExact) {
  std::vector<Problem> problems;
  for (const char* text :
       {"Conv2d(3, 5, 3, padding=1) @ 2x3x7x9", "Conv2d(16, 24, 3, padding=1, layout=channels_last) @ 2x16x7x9",
        "ConvTranspose1d(5, 6, 3, stride=2, residual=True) @ 2x5x13", "DepthwiseSeparable1d(5, 6, 3) @ 2x5x13"}) {
    for (const MatrixArithmetic& arithmetic : testing::all_arithmetics()) {
      // What tensor cores do to subnormals of 16 bits is for their contracts' bounds to judge.
      const bool exact = arithmetic.contract == Contract::ieee || arithmetic.contract == Contract::fp64;
      if (exact) problems.push_back(with(text, arithmetic));
    }
  }
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    const double least = problem.dtype == DType::float32    ? 0x1p-149
                         : problem.dtype == DType::float16  ? 0x1p-24
                         : problem.dtype == DType::bfloat16 ? 0x1p-133
                                                            : 0x1p-1074;
    ExactOperands operands(problem, 2);  // precise inputs, weights of one
    HostTensors& host = operands.tensors;
    for (std::vector<std::byte>* tensor : {&host.input, &host.bias, &host.pointwise_bias, &host.residual})
      scale(*tensor, problem.dtype, least);
    CudaTensors tensors(problem, context());
    tensors.upload(host.operands());
    ASSERT_EQ("", testing::run_guarded(plan, tensors));
    const auto expected = oracle(problem, host.operands(), testing::all_outputs(problem), OperandRounding::exact);
    const std::vector<double> actual = tensors.download().values();
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(round_to(expected[i].value, problem.out_dtype), actual[i]) << i;
    // The least normal number is 2^10 (float16), 2^7 or 2^23 or more of the least one: some outputs lie below.
    EXPECT_TRUE(std::ranges::any_of(actual, [](double value) { return value != 0; }));
  }
}

/// Products that are subnormal though their operands are not.
TEST_F(SpecialValues, ProductsThatUnderflowAreKept) {
  std::vector<Problem> problems;
  for (const char* text : {"Conv2d(3, 5, 3, padding=1, math=ieee) @ 2x3x7x9",
                           "Conv2d(16, 24, 3, padding=1, layout=channels_last, math=ieee) @ 2x16x7x9",
                           "ConvTranspose1d(5, 6, 3, stride=2, math=ieee) @ 2x5x13"})
    problems.push_back(parse_problem(text));
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    ExactOperands operands(problem, 2);
    scale(operands.tensors.input, problem.dtype, 0x1p-75);
    scale(operands.tensors.weight, problem.dtype, 0x1p-74);
    scale(operands.tensors.bias, problem.dtype, 0x1p-149);
    const Operands host = operands.tensors.operands();
    CudaTensors tensors(problem, context());
    tensors.upload(host);
    ASSERT_EQ("", testing::run_guarded(plan, tensors));
    const auto expected = oracle(problem, host, testing::all_outputs(problem), OperandRounding::exact);
    const std::vector<double> actual = tensors.download().values();
    std::int64_t subnormal = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(expected[i].value, actual[i]) << i;
      subnormal += actual[i] != 0 && std::abs(actual[i]) < 0x1p-126;
    }
    EXPECT_GT(subnormal, std::ssize(actual) / 2);
  }
}

/// Whether any tap of a transposed problem brings an input to that place of the output, by PyTorch's definition.
bool is_met(const Problem& p, const std::vector<std::int64_t>& position) {
  for (int axis = 0; axis < p.rank; ++axis) {
    bool met = false;
    for (std::int64_t tap = 0; tap < p.kernel[axis] && !met; ++tap) {
      for (std::int64_t input = 0; input < p.input[axis] && !met; ++input)
        met = input * p.stride[axis] + tap * p.dilation[axis] - p.padding_lo[axis] == position[axis];
    }
    if (!met) return false;
  }
  return true;
}

TEST_F(SpecialValues, OutputsThatNoInputReachesAreTheirEpilogue) {
  std::vector<Problem> problems;
  for (const char* text :
       {"ConvTranspose1d(3, 5, 2, stride=5) @ 2x3x7", "ConvTranspose1d(3, 5, 1, stride=2, bias=False) @ 2x3x7",
        "ConvTranspose2d(4, 6, (1, 2), stride=(3, 4), groups=2, residual=True, activation=relu) @ 2x4x5x6",
        "ConvTranspose2d(8, 12, 2, stride=4, dilation=2, layout=channels_last, math=tf32) @ 2x8x5x6",
        "ConvTranspose3d(2, 3, 1, stride=(2, 1, 3), output_padding=(1, 0, 2), dtype=float16) @ 1x2x3x4x5",
        "ConvTranspose1d(3, 5, 2, stride=4, residual=True, dtype=float64) @ 2x3x7"})
    problems.push_back(parse_problem(text));
  for (const SolverPlan& plan : loaded(problems, model())) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    const ExactOperands operands(problem, 2);
    CudaTensors tensors(problem, context());
    tensors.upload(operands.tensors.operands());
    ASSERT_EQ("", testing::run_guarded(plan, tensors));
    const std::vector<double> actual = tensors.download().values();
    const std::vector<std::int64_t> shape = output_shape(problem);
    const ElementPlaces place(shape, problem.layout);
    std::int64_t unreached = 0;
    for (std::int64_t i = 0; i < std::ssize(actual); ++i) {
      std::vector<std::int64_t> index = shape;
      std::int64_t rest = i;
      for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
      if (is_met(problem, {index.begin() + 2, index.end()})) continue;
      ++unreached;
      const double bias = problem.bias ? load_element(operands.tensors.bias.data(), problem.dtype, index[1]) : 0;
      const double residual =
          problem.residual ? load_element(operands.tensors.residual.data(), problem.out_dtype, place(i)) : 0;
      const double value = activate(problem.activation, bias + residual, problem.negative_slope);
      ASSERT_EQ(round_to(value, problem.out_dtype), actual[static_cast<std::size_t>(i)]) << i;
    }
    EXPECT_GT(unreached, std::ssize(actual) / 5);
  }
}

}  // namespace
}  // namespace tapconv
