#include <gtest/gtest.h>

#include "problem/lowering.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

/// Checks one axis against the definition of a convolution, by enumeration.
void expect_axis(const TapAxis& axis, std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t pad_lo,
                 std::int64_t pad_hi, std::int64_t dilation) {
  // The outputs are the places where the dilated kernel fits into the padded input.
  std::int64_t outputs = 0;
  while (outputs * stride + dilation * (kernel - 1) < input + pad_lo + pad_hi) ++outputs;
  ASSERT_EQ(outputs, axis.grid);
  EXPECT_EQ(outputs, axis.output);
  EXPECT_EQ(kernel, axis.taps);
  EXPECT_EQ(kernel, axis.kernel);
  EXPECT_EQ(input, axis.input);
  bool inside = true;
  for (std::int64_t q = 0; q < axis.grid; ++q) {
    EXPECT_EQ(q, axis.origin + axis.step * q);
    for (std::int64_t t = 0; t < axis.taps; ++t) {
      EXPECT_EQ(t, axis.first_tap + axis.tap_step * t);
      const std::int64_t position = axis.in_step * q + axis.offset(t);
      EXPECT_EQ(q * stride - pad_lo + t * dilation, position);
      inside = inside && position >= 0 && position < input;
    }
  }
  EXPECT_EQ(inside, axis.inside());
}

TEST(Lowering, EverySmallAxis) {
  int count = 0;
  for (int input = 1; input <= 7; ++input)
    for (int kernel = 1; kernel <= 4; ++kernel)
      for (int stride = 1; stride <= 5; ++stride)
        for (int lo = 0; lo <= 3; ++lo)
          for (int hi = 0; hi <= 3; ++hi)
            for (int dilation = 1; dilation <= 3; ++dilation) {
              if (dilation * (kernel - 1) >= input + lo + hi) continue;
              Problem problem;
              problem.rank = 1;
              problem.input[0] = input;
              problem.kernel[0] = kernel;
              problem.stride[0] = stride;
              problem.padding_lo[0] = lo;
              problem.padding_hi[0] = hi;
              problem.dilation[0] = dilation;
              const auto convolutions = lower(problem);
              ASSERT_EQ(1u, convolutions.size());
              expect_axis(convolutions[0].axis[2], input, kernel, stride, lo, hi, dilation);
              EXPECT_EQ(TapAxis{}, convolutions[0].axis[0]);
              EXPECT_EQ(TapAxis{}, convolutions[0].axis[1]);
              ++count;
            }
  EXPECT_GT(count, 4000);
}

TEST(Lowering, TwoThousandRandomProblems) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Problem problem = testing::random_problem(seed);
    SCOPED_TRACE(seed);
    const auto convolutions = lower(problem);
    ASSERT_EQ(1u, convolutions.size());
    const TapConvolution& conv = convolutions[0];
    EXPECT_EQ(problem.in_channels, conv.groups * conv.in_channels);
    EXPECT_EQ(problem.out_channels, conv.groups * conv.out_channels);
    EXPECT_EQ(problem.bias, conv.bias);
    for (int i = 0; i < problem.rank; ++i)
      expect_axis(conv.axis[max_rank - problem.rank + i], problem.input[i], problem.kernel[i], problem.stride[i],
                  problem.padding_lo[i], problem.padding_hi[i], problem.dilation[i]);
    EXPECT_EQ(element_count(output_shape(problem)), conv.batch * conv.groups * conv.out_channels * conv.grid_size());
  }
}

}  // namespace
}  // namespace tapconv
