#include "problem/validity.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "extreme_problem.hpp"
#include "small_problems.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

using testing::small_problem, testing::small_separable, testing::small_transposed;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

std::string refusal(const Problem& problem) {
  try {
    validate(problem);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    return error.what();
  }
  return "valid";
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

}  // namespace
}  // namespace tapconv
