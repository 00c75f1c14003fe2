#include "tapconv/problem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iterator>

#include "random_problem.hpp"
#include "small_problems.hpp"

namespace tapconv {
namespace {

using testing::small_problem, testing::small_separable, testing::small_transposed;

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
    ASSERT_NO_THROW(validate(problem)) << seed;
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
