#include "cuda/cudnn.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cudnn_graph.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda::cudnn {
namespace {

using Sizes = std::vector<std::int64_t>;

Problem small_2d() {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 6;
  problem.out_channels = 4;
  problem.groups = 2;
  problem.input = {7, 9, 1};
  problem.kernel = {3, 2, 1};
  problem.stride = {2, 1, 1};
  problem.padding_lo = {1, 0, 0};
  problem.padding_hi = {3, 2, 0};
  problem.dilation = {1, 2, 1};
  return problem;  // output 5 x 9
}

TEST(CudnnLayoutTest, ContiguousStridesHaveTheLastAxisFastest) {
  const ConvolutionLayout layout = convolution_layout(small_2d(), {CudnnLayout::contiguous});
  EXPECT_EQ(layout.input.sizes, (Sizes{2, 6, 7, 9}));
  EXPECT_EQ(layout.input.strides, (Sizes{378, 63, 9, 1}));
  EXPECT_EQ(layout.weight.sizes, (Sizes{4, 3, 3, 2}));
  EXPECT_EQ(layout.weight.strides, (Sizes{18, 6, 2, 1}));
  EXPECT_EQ(layout.output.sizes, (Sizes{2, 4, 5, 9}));
  EXPECT_EQ(layout.bias.sizes, (Sizes{1, 4, 1, 1}));
  EXPECT_EQ(layout.bias.strides, (Sizes{4, 1, 1, 1}));
}

TEST(CudnnLayoutTest, ChannelsLastAppliesToAllTensors) {
  const ConvolutionLayout layout = convolution_layout(small_2d(), {CudnnLayout::channels_last});
  EXPECT_EQ(layout.input.sizes, (Sizes{2, 6, 7, 9}));
  EXPECT_EQ(layout.input.strides, (Sizes{378, 1, 54, 6}));
  EXPECT_EQ(layout.weight.strides, (Sizes{18, 1, 6, 3}));
  EXPECT_EQ(layout.output.strides, (Sizes{180, 1, 36, 4}));
  EXPECT_EQ(layout.bias.strides, (Sizes{4, 1, 4, 4}));
}

TEST(CudnnLayoutTest, PaddingMayDifferOnTheSidesOfAnAxis) {
  const ConvolutionLayout layout = convolution_layout(small_2d(), {});
  EXPECT_EQ(layout.padding_lo, (Sizes{1, 0}));
  EXPECT_EQ(layout.padding_hi, (Sizes{3, 2}));
  EXPECT_EQ(layout.stride, (Sizes{2, 1}));
  EXPECT_EQ(layout.dilation, (Sizes{1, 2}));
}

TEST(CudnnLayoutTest, OneAxisBecomesARowOrAColumn) {
  Problem problem;
  problem.rank = 1;
  problem.in_channels = 3;
  problem.out_channels = 5;
  problem.input = {10, 1, 1};
  problem.kernel = {4, 1, 1};
  problem.stride = {2, 1, 1};
  problem.padding_lo = problem.padding_hi = {3, 0, 0};
  problem.dilation = {2, 1, 1};

  const ConvolutionLayout row = convolution_layout(problem, {CudnnLayout::contiguous, CudnnRank1::height_one});
  EXPECT_EQ(row.input.sizes, (Sizes{1, 3, 1, 10}));
  EXPECT_EQ(row.weight.sizes, (Sizes{5, 3, 1, 4}));
  EXPECT_EQ(row.output.sizes, (Sizes{1, 5, 1, 5}));
  EXPECT_EQ(row.padding_lo, (Sizes{0, 3}));
  EXPECT_EQ(row.stride, (Sizes{1, 2}));

  const ConvolutionLayout column = convolution_layout(problem, {CudnnLayout::contiguous, CudnnRank1::width_one});
  EXPECT_EQ(column.input.sizes, (Sizes{1, 3, 10, 1}));
  EXPECT_EQ(column.weight.sizes, (Sizes{5, 3, 4, 1}));
  EXPECT_EQ(column.padding_hi, (Sizes{3, 0}));
  EXPECT_EQ(column.dilation, (Sizes{2, 1}));
}

TEST(CudnnLayoutTest, ThreeAxesKeepTheirOrder) {
  Problem problem;
  problem.rank = 3;
  problem.in_channels = 2;
  problem.input = {4, 5, 6};
  const ConvolutionLayout layout = convolution_layout(problem, {CudnnLayout::channels_last});
  EXPECT_EQ(layout.input.sizes, (Sizes{1, 2, 4, 5, 6}));
  EXPECT_EQ(layout.input.strides, (Sizes{240, 1, 60, 12, 2}));
}

TEST(CudnnLayoutTest, TransposedIsBackwardData) {
  const ConvolutionLayout layout =
      convolution_layout(parse_problem("ConvTranspose2d(6, 4, (3, 2), stride=(2, 1), groups=2, output_padding=(1, 0), "
                                       "padding=1, dilation=(1, 2)) @ 2x6x5x7"),
                         {CudnnLayout::channels_last});
  EXPECT_EQ(layout.input.sizes, (Sizes{2, 6, 5, 7}));
  EXPECT_EQ(layout.weight.sizes, (Sizes{6, 2, 3, 2}));
  EXPECT_EQ(layout.weight.strides, (Sizes{12, 1, 4, 2}));
  EXPECT_EQ(layout.output.sizes, (Sizes{2, 4, 10, 7}));
  EXPECT_EQ(layout.padding_lo, (Sizes{1, 1}));
  EXPECT_EQ(layout.padding_hi, (Sizes{1, 1}));
  EXPECT_EQ(layout.bias.sizes, (Sizes{1, 4, 1, 1}));
}

// cuDNN's rule for the length of a convolution's output, which the lengths and paddings that it is given must obey.
TEST(CudnnLayoutTest, LengthsAgreeWhateverThePadding) {
  int equal_sides = 0, refused = 0, given = 0;
  for (const Kind kind : {Kind::convolution, Kind::transposed}) {
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
      for (std::int64_t lo = 0; lo <= 3; ++lo) {
        for (std::int64_t hi = 0; hi <= 3; ++hi) {
          for (std::int64_t end = 0; end < 4; ++end) {
            Problem problem;
            problem.kind = kind;
            problem.rank = 1;
            problem.input = {kind == Kind::transposed ? 5 : 9 + end, 1, 1};
            problem.kernel = {3, 1, 1};
            problem.dilation = {4, 1, 1};
            problem.stride = {stride, 1, 1};
            problem.padding_lo = {lo, 0, 0};
            problem.padding_hi = {hi, 0, 0};
            if (kind == Kind::transposed) problem.output_padding = {end, 0, 0};
            validate(problem);
            ++given;
            if (!refusal(problem).empty()) {
              ++refused;
              continue;
            }
            const ConvolutionLayout layout = convolution_layout(problem, {});
            std::int64_t x = layout.input.sizes[3], y = layout.output.sizes[3];
            if (kind == Kind::transposed) std::swap(x, y);
            EXPECT_GE(layout.padding_hi[1], 0);
            EXPECT_EQ((x + lo + layout.padding_hi[1] - 9) / stride + 1, y)
                << spell(problem) << ": " << layout.padding_hi[1];
            if (layout.padding_hi[1] == lo) ++equal_sides;
          }
        }
      }
    }
  }
  EXPECT_GT(equal_sides, given / 4);  // of which as many were equal as given, and others became so
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, given / 10);
}

TEST(CudnnRefusalTest, SaysWhatCudnnCannotExpress) {
  EXPECT_EQ(refusal(small_2d()), "");
  EXPECT_EQ(refusal(parse_problem("ConvTranspose1d(2, 3, 3, stride=2, output_padding=1) @ 1x2x5")), "");
  for (const auto& [text, word] : std::vector<std::pair<std::string, std::string>>{
           {"DepthwiseSeparable2d(4, 6, 3) @ 1x4x8x8", "separable"},
           {"Conv1d(2, 3, 3, padding=1, padding_mode='reflect') @ 1x2x5", "reflect"},
           {"Conv1d(2, 3, 3, residual=True) @ 1x2x5", "residual"},
           {"Conv1d(2, 3, 3, activation=relu) @ 1x2x5", "relu"},
           {"ConvTranspose1d(2, 3, 2, stride=1, dilation=3, output_padding=2) @ 1x2x5", "output_padding"}}) {
    EXPECT_NE(refusal(parse_problem(text)).find(word), std::string::npos)
        << text << ": " << refusal(parse_problem(text));
  }
  Problem cropped = small_2d();
  cropped.padding_hi = {0, -1, 0};
  EXPECT_NE(refusal(cropped).find("-1"), std::string::npos);
  // Lengths that only 64 bits hold.
  Problem hostile = parse_problem("ConvTranspose1d(1, 1, 1) @ 1x1x1");
  hostile.stride[0] = std::numeric_limits<std::int64_t>::max();
  validate(hostile);
  EXPECT_EQ(convolution_layout(hostile, {}).padding_hi, (Sizes{0, 0}));
}

TEST(CudnnAllowedTest, FollowsTheNotes) {
  CudnnChoice exact;
  exact.allow_tensor_cores = false;
  CudnnNotes notes;
  EXPECT_TRUE(allowed(notes, exact));
  notes.tensor_cores = true;
  EXPECT_TRUE(allowed(notes, {}));
  EXPECT_FALSE(allowed(notes, exact));
  notes.down_converts_inputs = true;
  EXPECT_FALSE(allowed(notes, {}));
}

}  // namespace
}  // namespace tapconv::cuda::cudnn
