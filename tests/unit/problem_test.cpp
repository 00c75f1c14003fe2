#include "tapconv/problem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

#include "extreme_problem.hpp"
#include "problem/validity.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

Problem small_problem() {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 4;
  problem.out_channels = 6;
  problem.input = {9, 8, 1};
  problem.kernel = {3, 2, 1};
  problem.groups = 2;
  return problem;
}

std::string refusal(const Problem& problem) {
  try {
    validate(problem);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    return error.what();
  }
  return "valid";
}

Problem small_transposed() {
  Problem problem = small_problem();
  problem.kind = Kind::transposed;
  problem.stride = {2, 3, 1};
  return problem;
}

Problem small_separable() {
  Problem problem = small_problem();
  problem.kind = Kind::depthwise_separable;
  problem.groups = 1;
  problem.depth_multiplier = 3;
  return problem;
}

struct Refusal {
  std::function<void(Problem&)> change;
  std::string message;
};

TEST(Validate, NamesFieldValueAndWhatWouldBeValid) {
  const Refusal refusals[] = {
      {[](Problem& p) { p.rank = 0; }, "rank = 0; valid: 1, 2 or 3"},
      {[](Problem& p) { p.rank = 4; }, "rank = 4; valid: 1, 2 or 3"},
      {[](Problem& p) { p.batch = 0; }, "batch = 0; valid: 1 or more"},
      {[](Problem& p) { p.in_channels = -2; }, "in_channels = -2; valid: 1 or more"},
      {[](Problem& p) { p.out_channels = 0; }, "out_channels = 0; valid: 1 or more"},
      {[](Problem& p) { p.groups = 0; }, "groups = 0; valid: 1 or more"},
      {[](Problem& p) { p.input[1] = 0; }, "input = 0 on axis W; valid: 1 or more"},
      {[](Problem& p) { p.kernel[0] = 0; }, "kernel_size = 0 on axis H; valid: 1 or more"},
      {[](Problem& p) { p.stride[0] = 0; }, "stride = 0 on axis H; valid: 1 or more"},
      {[](Problem& p) { p.dilation[1] = -1; }, "dilation = -1 on axis W; valid: 1 or more"},
      {[](Problem& p) {
         p.padding_lo[0] = -4;
         p.padding_hi[0] = -5;
       },
       "padding = -4 and -5 on axis H crops more than the input of 9 has; valid: padding that leaves a position of the "
       "input"},
      {[](Problem& p) {
         p.padding_lo[1] = -8;
         p.padding_hi[1] = 100;
       },
       "padding = -8 and 100 on axis W crops more than the input of 8 has; valid: padding that leaves a position of "
       "the "
       "input"},
      {[](Problem& p) { p.padding_lo[1] = -7; },
       "kernel_size = 2 with dilation = 1 spans 2 positions on axis W; valid: at most 1, the padded input"},
      {[](Problem& p) { p.stride[2] = 2; }, "stride[2] = 2 lies beyond rank = 2; valid: 1"},
      {[](Problem& p) { p.padding_hi[2] = 1; }, "padding[2] = 1 lies beyond rank = 2; valid: 0"},
      {[](Problem& p) { p.input[2] = 0; }, "input[2] = 0 lies beyond rank = 2; valid: 1"},
      {[](Problem& p) { p.kind = static_cast<Kind>(3); }, "kind = 3; valid: a value of the enumeration"},
      {[](Problem& p) { p.padding_mode = static_cast<PaddingMode>(-1); },
       "padding_mode = -1; valid: a value of the enumeration"},
      {[](Problem& p) { p.dtype = static_cast<DType>(4); }, "dtype = 4; valid: a value of the enumeration"},
      {[](Problem& p) { p.out_dtype = static_cast<DType>(4); }, "out_dtype = 4; valid: a value of the enumeration"},
      {[](Problem& p) { p.layout = static_cast<Layout>(2); }, "layout = 2; valid: a value of the enumeration"},
      {[](Problem& p) { p.contract = static_cast<Contract>(9); }, "math = 9; valid: a value of the enumeration"},
      {[](Problem& p) { p.tie_rule = static_cast<TieRule>(7); }, "rounding = 7; valid: a value of the enumeration"},
      {[](Problem& p) { p.activation = static_cast<Activation>(6); },
       "activation = 6; valid: a value of the enumeration"},
      {[](Problem& p) { p.contract = Contract::bf16; }, "math = bf16 with dtype = float32; valid: ieee, fp32, tf32"},
      {[](Problem& p) {
         p.dtype = DType::bfloat16;
         p.contract = Contract::tf32;
       },
       "math = tf32 with dtype = bfloat16; valid: ieee, fp32, bf16"},
      {[](Problem& p) { p.dtype = p.out_dtype = DType::float64; }, "math = fp32 with dtype = float64; valid: fp64"},
      {[](Problem& p) { p.tie_rule = TieRule::even; }, "rounding = rn with math = fp32; valid: with math = tf32 alone"},
      {[](Problem& p) { p.out_dtype = DType::float64; },
       "out_dtype = float64 with dtype = float32; valid: float64 for both or for none"},
      {[](Problem& p) { p.negative_slope = std::numeric_limits<double>::quiet_NaN(); },
       "negative_slope = nan; valid: a finite number"},
      {[](Problem& p) {
         p.activation = Activation::leaky_relu;
         p.negative_slope = -std::numeric_limits<double>::infinity();
       },
       "negative_slope = -inf; valid: a finite number"},
      {[](Problem& p) { p.negative_slope = 0.5; },
       "negative_slope = 0.5 with activation = none; valid: with activation = leaky_relu alone"},
      {[](Problem& p) { p.depth_multiplier = 0; }, "depth_multiplier = 0; valid: 1 or more"},
      {[](Problem& p) { p.depth_multiplier = 2; },
       "depth_multiplier = 2; valid: 1, other values for a depthwise separable convolution alone"},
      {[](Problem& p) { p.output_padding[0] = 1; },
       "output_padding = 1; valid: 0, other values for the axes of a transposed convolution alone"},
      {[](Problem& p) { p.dynamic_input[2] = true; }, "dynamic input[2] lies beyond rank = 2; valid: false"},
      {[](Problem& p) {
         p.padding_mode = PaddingMode::reflect;
         p.padding_hi[0] = 9;
       },
       "padding = 9 with padding_mode = reflect on axis H; valid: at most 8, one less than the input"},
      {[](Problem& p) {
         p.padding_mode = PaddingMode::circular;
         p.padding_lo[1] = 9;
       },
       "padding = 9 with padding_mode = circular on axis W; valid: at most 8, the input"},
      {[](Problem& p) { p.groups = 3; },
       "groups = 3 does not divide in_channels = 4; valid: a common divisor of in_channels and out_channels (1, 2)"},
      {[](Problem& p) { p.groups = 4; },
       "groups = 4 does not divide out_channels = 6; valid: a common divisor of in_channels and out_channels (1, 2)"},
      {[](Problem& p) {
         p.in_channels = p.out_channels = 64;
         p.groups = 3;
       },
       "groups = 3 does not divide in_channels = 64; valid: a common divisor of in_channels and out_channels "
       "(1, 2, 4, 8, ..., 64)"},
      {[](Problem& p) {
         p.dilation[0] = 5;
         p.padding_lo[0] = 1;
       },
       "kernel_size = 3 with dilation = 5 spans 11 positions on axis H; valid: at most 10, the padded input"},
  };
  EXPECT_EQ(refusal(small_problem()), "valid");
  for (const Refusal& expected : refusals) {
    Problem problem = small_problem();
    expected.change(problem);
    EXPECT_EQ(refusal(problem), expected.message);
  }
}

TEST(Validate, KnowsWhatOtherKindsHave) {
  const Refusal transposed[] = {
      {[](Problem& p) { p.padding_mode = PaddingMode::reflect; },
       "padding_mode = reflect for a transposed convolution; valid: zeros"},
      {[](Problem& p) { p.depth_multiplier = 2; },
       "depth_multiplier = 2; valid: 1, other values for a depthwise separable convolution alone"},
      {[](Problem& p) { p.output_padding[0] = 2; },
       "output_padding = 2 on axis H; valid: 0 or more, less than stride = 2 or dilation = 1"},
      {[](Problem& p) { p.output_padding[1] = -1; },
       "output_padding = -1 on axis W; valid: 0 or more, less than stride = 3 or dilation = 1"},
      {[](Problem& p) { p.output_padding[2] = 1; },
       "output_padding = 1; valid: 0, other values for the axes of a transposed convolution alone"},
      {[](Problem& p) {
         p.padding_lo[0] = 10;
         p.padding_hi[0] = 9;
       },
       "padding = 10 and 9 on axis H leaves no output; valid: together at most 18"},
      {[](Problem& p) { p.stride[1] = largest; },
       "stride = 9223372036854775807 with input = 8 on axis W gives too long an output; valid: at most "
       "9223372036854775807 positions"},
  };
  EXPECT_EQ(refusal(small_transposed()), "valid");
  for (const Refusal& expected : transposed) {
    Problem problem = small_transposed();
    expected.change(problem);
    EXPECT_EQ(refusal(problem), expected.message);
  }
  const Refusal separable[] = {
      {[](Problem& p) { p.groups = 2; },
       "groups = 2 for a depthwise separable convolution; valid: 1 (its depthwise half has a group per channel by "
       "itself)"},
      {[](Problem& p) { p.output_padding[0] = 1; },
       "output_padding = 1; valid: 0, other values for the axes of a transposed convolution alone"},
      {[](Problem& p) { p.depth_multiplier = largest; },
       "depth_multiplier = 9223372036854775807 with in_channels = 4 is too large; valid: at most 9223372036854775807 "
       "channels"},
      {[](Problem& p) { p.depth_multiplier = std::int64_t{1} << 57; },
       "weight of shape (576460752303423488, 1, 3, 2) is too large; valid: at most 1152921504606846975 elements"},
      {[](Problem& p) {
         p.out_channels = std::int64_t{1} << 53;
         p.depth_multiplier = 64;
       },
       "pointwise weight of shape (9007199254740992, 256, 1, 1) is too large; valid: at most 1152921504606846975 "
       "elements"},
  };
  EXPECT_EQ(refusal(small_separable()), "valid");
  for (const Refusal& expected : separable) {
    Problem problem = small_separable();
    expected.change(problem);
    EXPECT_EQ(refusal(problem), expected.message);
  }
}

TEST(Validate, AllowsWhatLooksOdd) {
  // Padding and cropping at once, an input of which one position is left, dynamic sizes, a slope of zero.
  Problem problem = small_problem();
  problem.padding_lo = {-8, 5, 0};
  problem.padding_hi = {3, -7, 0};
  problem.dynamic_batch = true;
  problem.dynamic_input = {true, true, false};
  problem.activation = Activation::leaky_relu;
  problem.negative_slope = 0;
  EXPECT_EQ(refusal(problem), "valid");
  EXPECT_EQ(output_extent(problem), (Extent{2, 5, 1}));
  // Negative padding extends a transposed output; output_padding may reach the dilation where that is larger.
  Problem transposed = small_transposed();
  transposed.padding_lo = {-5, 0, 0};
  transposed.dilation = {7, 1, 1};
  transposed.output_padding = {6, 0, 0};
  EXPECT_EQ(refusal(transposed), "valid");
  EXPECT_EQ(output_extent(transposed), (Extent{16 + 5 + 14 + 6 + 1, 21 + 1 + 1, 1}));
}

TEST(Validate, AllowsOutputsOfOnePositionAndPaddingBeyondTheInput) {
  Problem problem = small_problem();
  problem.dilation[0] = 4;
  EXPECT_EQ(refusal(problem), "valid");
  EXPECT_EQ(output_extent(problem), (Extent{1, 7, 1}));
  problem.padding_lo = problem.padding_hi = {100, 100, 0};
  problem.stride = {1000, 1000, 1};
  EXPECT_EQ(refusal(problem), "valid");
  EXPECT_EQ(output_extent(problem), (Extent{1, 1, 1}));
}

TEST(Validate, RefusesWhatOverflows) {
  const auto message = [](const std::function<void(Problem&)>& change) {
    Problem problem;
    change(problem);
    return refusal(problem);
  };
  EXPECT_EQ(message([](Problem& p) { p.padding_lo[0] = largest; }),
            "padding = 9223372036854775807 on axis H; valid: -1152921504606846975 to 1152921504606846975");
  EXPECT_EQ(message([](Problem& p) { p.padding_hi[1] = std::numeric_limits<std::int64_t>::min(); }),
            "padding = -9223372036854775808 on axis W; valid: -1152921504606846975 to 1152921504606846975");
  const auto span = message([](Problem& p) {
    p.dilation[0] = largest;
    p.kernel[0] = 2;
  });
  EXPECT_TRUE(span.starts_with("dilation = 9223372036854775807 with kernel_size = 2 on axis H is too large")) << span;

  // 2^60 - 1 elements of 8 bytes fit, 2^60 do not.
  constexpr std::int64_t limit = (std::int64_t{1} << 60) - 1;
  EXPECT_EQ(message([](Problem& p) { p.input[0] = limit; }), "valid");
  EXPECT_EQ(message([](Problem& p) { p.input[0] = limit + 1; }),
            "input of shape (1, 1, 1152921504606846976, 1) is too large; valid: at most 1152921504606846975 elements");
  EXPECT_TRUE(message([](Problem& p) {
                p.input = {std::int64_t{1} << 31, std::int64_t{1} << 31, 1};
              }).starts_with("input of shape"));
  EXPECT_TRUE(message([](Problem& p) {
                p.in_channels = p.out_channels = std::int64_t{1} << 40;
              }).starts_with("weight of shape (1099511627776, 1099511627776, 1, 1)"));
  EXPECT_TRUE(message([](Problem& p) {
                p.batch = std::int64_t{1} << 40;
                p.out_channels = std::int64_t{1} << 40;
              }).starts_with("output of shape"));
  // A product that wraps around to a small number.
  EXPECT_TRUE(message([](Problem& p) {
                p.rank = 3;
                p.input = {std::int64_t{1} << 32, std::int64_t{1} << 32, 1};
              }).starts_with("input of shape"));
}

__extension__ typedef __int128 Wide;

/// output_extent()'s formula, in 128 bits.
Wide wide_output(const Problem& problem, int axis) {
  const Wide input = problem.input[axis], stride = problem.stride[axis];
  const Wide padding = Wide{problem.padding_lo[axis]} + problem.padding_hi[axis];
  const Wide reach = Wide{problem.dilation[axis]} * (problem.kernel[axis] - 1);
  if (problem.kind == Kind::transposed) {
    return (input - 1) * stride - padding + reach + problem.output_padding[axis] + 1;
  }
  return (input + padding - reach - 1) / stride + 1;
}

Wide wide_count(const std::vector<std::int64_t>& shape) {
  Wide count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

TEST(Validate, NothingOverflowsInWhatItAccepts) {
  int accepted = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 50000; ++seed) {
    const Problem problem = testing::extreme_problem(seed);
    if (const auto violation = find_violation(problem)) {
      ++refused;
      ASSERT_FALSE(violation->message.empty());
      ASSERT_TRUE(violation->axis >= 0 && violation->axis < problem.rank) << violation->message;
      continue;
    }
    ++accepted;
    const Extent output = output_extent(problem);
    for (int axis = 0; axis < max_rank; ++axis) ASSERT_TRUE(Wide{output[axis]} == wide_output(problem, axis)) << seed;
    std::vector<std::vector<std::int64_t>> shapes{input_shape(problem), weight_shape(problem), output_shape(problem)};
    if (problem.kind == Kind::depthwise_separable) shapes.push_back(pointwise_weight_shape(problem));
    for (const auto& shape : shapes) {
      ASSERT_TRUE(wide_count(shape) * 8 <= Wide{largest}) << seed;
      ASSERT_TRUE(Wide{element_count(shape)} == wide_count(shape)) << seed;
    }
    for (const Problem& stage : stages(problem)) ASSERT_EQ(refusal(stage), "valid") << seed;
    ASSERT_GT(work(problem).flop, 0);
    ASSERT_GT(work(problem).byte, 0);
  }
  EXPECT_GT(accepted, 5000);
  EXPECT_GT(refused, 5000);
}

TEST(Shapes, FollowPyTorch) {
  Problem problem = small_problem();
  problem.stride = {2, 3, 1};
  problem.padding_lo = problem.padding_hi = {1, 2, 0};
  EXPECT_EQ(input_shape(problem), (std::vector<std::int64_t>{2, 4, 9, 8}));
  EXPECT_EQ(weight_shape(problem), (std::vector<std::int64_t>{6, 2, 3, 2}));
  EXPECT_EQ(output_shape(problem), (std::vector<std::int64_t>{2, 6, 5, 4}));
  EXPECT_EQ(element_count({2, 6, 5, 4}), 240);
  EXPECT_EQ(element_count({}), 1);
}

TEST(Shapes, OfTheOtherKinds) {
  const Problem transposed = small_transposed();
  EXPECT_EQ(input_shape(transposed), (std::vector<std::int64_t>{2, 4, 9, 8}));
  EXPECT_EQ(weight_shape(transposed), (std::vector<std::int64_t>{4, 3, 3, 2}));
  EXPECT_EQ(output_shape(transposed), (std::vector<std::int64_t>{2, 6, 19, 23}));
  EXPECT_EQ(bias_count(transposed), 6);
  EXPECT_EQ(pointwise_bias_count(transposed), 0);

  Problem separable = small_separable();
  EXPECT_EQ(weight_shape(separable), (std::vector<std::int64_t>{12, 1, 3, 2}));
  EXPECT_EQ(pointwise_weight_shape(separable), (std::vector<std::int64_t>{6, 12, 1, 1}));
  EXPECT_EQ(output_shape(separable), (std::vector<std::int64_t>{2, 6, 7, 7}));
  EXPECT_EQ(bias_count(separable), 12);
  EXPECT_EQ(pointwise_bias_count(separable), 6);
  separable.bias = false;
  EXPECT_EQ(bias_count(separable), 0);
  EXPECT_EQ(pointwise_bias_count(separable), 0);
}

TEST(Shapes, TransposedOutputIsTheShortestInputOfItsConvolution) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    if (problem.kind != Kind::transposed) continue;
    const Extent output = output_extent(problem);
    for (int axis = 0; axis < problem.rank; ++axis) {
      const auto convolved = [&](std::int64_t size) {
        std::int64_t count = 0;
        const std::int64_t reach = problem.dilation[axis] * (problem.kernel[axis] - 1);
        for (std::int64_t first = -problem.padding_lo[axis]; first + reach < size + problem.padding_hi[axis];
             first += problem.stride[axis]) {
          ++count;
        }
        return count;
      };
      const std::int64_t shortest = output[axis] - problem.output_padding[axis];
      ASSERT_EQ(convolved(shortest), problem.input[axis]) << seed;
      ASSERT_LT(convolved(shortest - 1), problem.input[axis]) << seed;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(Shapes, OutputCountsEveryPlaceWhereTheFilterFits) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    if (problem.kind == Kind::transposed) continue;
    ASSERT_NO_THROW(validate(problem));
    const Extent output = output_extent(problem);
    for (int axis = 0; axis < max_rank; ++axis) {
      std::int64_t count = 0;
      for (std::int64_t first = -problem.padding_lo[axis];; first += problem.stride[axis]) {
        const std::int64_t last = first + problem.dilation[axis] * (problem.kernel[axis] - 1);
        if (last >= problem.input[axis] + problem.padding_hi[axis]) break;
        ++count;
      }
      ASSERT_EQ(output[axis], count) << "seed " << seed << ", axis " << axis;
    }
  }
}

TEST(Shapes, AsymmetricPadding) {
  Problem problem;
  problem.rank = 1;
  problem.input = {9, 1, 1};
  problem.kernel = {4, 1, 1};
  problem.padding_lo = {1, 0, 0};
  problem.padding_hi = {2, 0, 0};
  EXPECT_EQ(output_extent(problem), (Extent{9, 1, 1}));
}

TEST(WorkOf, CountsByHand) {
  const Problem problem = small_problem();  // output 2 x 6 x 7 x 7, 2 channels and 6 taps per output
  EXPECT_EQ(work(problem).flop, 2.0 * 588 * 12);
  EXPECT_EQ(work(problem).byte, 4.0 * (576 + 72 + 6 + 588));
  Problem without_bias = problem;
  without_bias.bias = false;
  EXPECT_EQ(work(without_bias).flop, work(problem).flop);
  EXPECT_EQ(work(without_bias).byte, work(problem).byte - 24);
}

TEST(WorkOf, CountsTheOtherKindsByHand) {
  Problem transposed = small_transposed();  // each of 2 x 4 x 9 x 8 inputs meets 3 output channels and 6 taps
  EXPECT_EQ(work(transposed).flop, 2.0 * 576 * 18);
  EXPECT_EQ(work(transposed).byte, 4.0 * (576 + 72 + 6 + 2 * 6 * 19 * 23));
  transposed.padding_lo = {1, 1, 0};
  EXPECT_EQ(work(transposed).flop, 2.0 * 576 * 18);

  const Problem separable = small_separable();  // 2 x 12 x 7 x 7 between the halves
  EXPECT_EQ(work(separable).flop, 2.0 * (1176 * 6 + 588 * 12));
  EXPECT_EQ(work(separable).byte, 4.0 * (576 + 72 + 12 + 72 + 6 + 588));
}

TEST(WorkOf, CountsBytesOfEachType) {
  Problem problem = small_problem();
  problem.dtype = DType::bfloat16;
  problem.contract = Contract::bf16;
  EXPECT_EQ(work(problem).byte, 2.0 * (576 + 72 + 6) + 4.0 * 588);
  problem.residual = true;
  EXPECT_EQ(work(problem).byte, 2.0 * (576 + 72 + 6) + 4.0 * 2 * 588);
  problem.dtype = problem.out_dtype = DType::float64;
  EXPECT_EQ(work(problem).byte, 8.0 * (576 + 72 + 6 + 2 * 588));
}

TEST(Stages, AreTheHalvesOfASeparableConvolution) {
  Problem problem = small_separable();
  problem.stride = {2, 1, 1};
  problem.padding_lo = {1, 0, 0};
  problem.padding_mode = PaddingMode::reflect;
  problem.residual = true;
  problem.activation = Activation::leaky_relu;
  problem.negative_slope = 0.5;
  Problem depthwise = problem;
  depthwise.kind = Kind::convolution;
  depthwise.out_channels = 12;
  depthwise.groups = 4;
  depthwise.depth_multiplier = 1;
  depthwise.residual = false;
  depthwise.activation = Activation::none;
  depthwise.negative_slope = 0.01;
  Problem pointwise;
  pointwise.batch = 2;
  pointwise.in_channels = 12;
  pointwise.out_channels = 6;
  pointwise.input = {4, 7, 1};
  pointwise.residual = true;
  pointwise.activation = Activation::leaky_relu;
  pointwise.negative_slope = 0.5;
  EXPECT_EQ(stages(problem), (std::vector<Problem>{depthwise, pointwise}));
  EXPECT_EQ(stages(small_transposed()), std::vector<Problem>{small_transposed()});
}

TEST(RandomProblem, RespectsTheBoundAndCoversTheSpace) {
  bool depthwise = false, grouped = false, sparse = false, padded = false;
  std::array<int, max_rank + 1> ranks{};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    for (const double bound : {2.0, 100.0, 1e4, 1e9}) {
      const Problem problem = testing::random_problem(seed, bound);
      ASSERT_NO_THROW(validate(problem));
      ASSERT_LE(work(problem).flop, bound);
    }
    const Problem problem = testing::random_problem(seed);
    ASSERT_EQ(problem, testing::random_problem(seed));
    ++ranks[problem.rank];
    depthwise |= problem.groups > 1 && problem.groups == problem.in_channels && problem.out_channels > problem.groups;
    grouped |= problem.groups > 1 && problem.groups < problem.in_channels;
    sparse |= problem.stride[0] > problem.kernel[0];
    padded |= problem.padding_lo[0] > problem.kernel[0];
  }
  EXPECT_TRUE(depthwise && grouped && sparse && padded);
  for (int rank = 1; rank <= max_rank; ++rank) EXPECT_GT(ranks[rank], 50);
}

TEST(RandomProblem, ReachesTheWholeSpace) {
  int transposed = 0, separable = 0, asymmetric = 0, cropped = 0, extended = 0, residual = 0, dynamic = 0,
      other_out = 0;
  std::array<int, std::size(all_dtypes)> dtypes{};
  std::array<int, std::size(all_activations)> activations{};
  std::array<int, 4> modes{};
  constexpr int problems = 2000;
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    ASSERT_EQ(refusal(problem), "valid");
    transposed += problem.kind == Kind::transposed;
    separable += problem.kind == Kind::depthwise_separable;
    asymmetric += problem.padding_lo != problem.padding_hi;
    cropped += problem.padding_lo[0] < 0;
    extended += problem.output_padding != Extent{0, 0, 0};
    residual += problem.residual;
    dynamic += problem.dynamic_batch || problem.dynamic_input != Problem{}.dynamic_input;
    other_out += problem.dtype != problem.out_dtype;
    ++dtypes[static_cast<std::size_t>(problem.dtype)];
    ++activations[static_cast<std::size_t>(problem.activation)];
    ++modes[static_cast<std::size_t>(problem.padding_mode)];
  }
  constexpr int few = problems / 100;
  for (const int count : {transposed, separable, asymmetric, cropped, extended, residual, dynamic, other_out}) {
    EXPECT_GT(count, few);
  }
  for (const int count : dtypes) EXPECT_GT(count, few);
  for (const int count : activations) EXPECT_GT(count, few);
  for (const int count : modes) EXPECT_GT(count, few);
}

}  // namespace
}  // namespace tapconv
