#include "tapconv/problem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>

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
      {[](Problem& p) { p.padding_lo[0] = -1; }, "padding = -1 on axis H; valid: 0 or more"},
      {[](Problem& p) { p.padding_hi[1] = -3; }, "padding = -3 on axis W; valid: 0 or more"},
      {[](Problem& p) { p.stride[2] = 2; }, "stride[2] = 2 lies beyond rank = 2; valid: 1"},
      {[](Problem& p) { p.padding_hi[2] = 1; }, "padding[2] = 1 lies beyond rank = 2; valid: 0"},
      {[](Problem& p) { p.input[2] = 0; }, "input[2] = 0 lies beyond rank = 2; valid: 1"},
      {[](Problem& p) { p.contract = static_cast<Contract>(9); }, "math = 9; valid: ieee, fp32 or tf32"},
      {[](Problem& p) { p.tie_rule = static_cast<TieRule>(7); }, "rounding = 7; valid: rna or rn"},
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
  const auto padding = message([](Problem& p) { p.padding_lo[0] = largest; });
  EXPECT_TRUE(padding.starts_with("padding = 9223372036854775807 and 0 on axis H is too large; valid: ")) << padding;
  EXPECT_TRUE(
      message([](Problem& p) { p.padding_lo[1] = p.padding_hi[1] = largest / 2 + 1; }).starts_with("padding = "));
  const auto span = message([](Problem& p) {
    p.dilation[0] = largest;
    p.kernel[0] = 2;
  });
  EXPECT_TRUE(span.starts_with("dilation = 9223372036854775807 with kernel_size = 2 on axis H is too large")) << span;

  // 2^61 - 1 elements of 4 bytes fit, 2^61 do not.
  constexpr std::int64_t limit = (std::int64_t{1} << 61) - 1;
  EXPECT_EQ(message([](Problem& p) { p.input[0] = limit; }), "valid");
  EXPECT_EQ(message([](Problem& p) { p.input[0] = limit + 1; }),
            "input of shape (1, 1, 2305843009213693952, 1) is too large; valid: at most 2305843009213693951 elements");
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

TEST(Shapes, OutputCountsEveryPlaceWhereTheFilterFits) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Problem problem = testing::random_problem(seed);
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

}  // namespace
}  // namespace tapconv
