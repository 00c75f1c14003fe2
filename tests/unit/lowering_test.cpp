#include "problem/lowering.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "random_problem.hpp"

namespace tapconv {
namespace {

using Triple = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

/// One axis of a problem of rank 1.
Problem axis_problem(Kind kind, int input, int kernel, int stride, int lo, int hi, int dilation) {
  Problem problem;
  problem.kind = kind;
  problem.rank = 1;
  problem.input[0] = input;
  problem.kernel[0] = kernel;
  problem.stride[0] = stride;
  problem.padding_lo[0] = lo;
  problem.padding_hi[0] = hi;
  problem.dilation[0] = dilation;
  return problem;
}

bool is_valid(const Problem& problem) {
  try {
    validate(problem);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The padded input as a list: for each of its positions the position of the input that stands there, or -1 for a zero.
/// Made by walking outwards from the input, so by another way than source_position()'s formulas.
std::vector<std::int64_t> padded_positions(const Problem& p) {
  const std::int64_t input = p.input[0];
  std::vector<std::int64_t> before, after;  // outwards
  std::int64_t low = 0, high = input - 1, low_step = 1, high_step = -1;
  for (std::int64_t i = 0; i < std::max<std::int64_t>({p.padding_lo[0], p.padding_hi[0], 0}); ++i) {
    switch (p.padding_mode) {
      case PaddingMode::zeros:
        low = high = -1;
        break;
      case PaddingMode::replicate:
        break;
      case PaddingMode::reflect:
        low += low_step;
        high += high_step;
        break;
      case PaddingMode::circular:
        low = i == 0 ? input - 1 : low - 1;
        high = i == 0 ? 0 : high + 1;
        break;
    }
    before.push_back(low);
    after.push_back(high);
  }
  std::vector<std::int64_t> positions;
  for (std::int64_t i = p.padding_lo[0]; i-- > 0;) positions.push_back(before[static_cast<std::size_t>(i)]);
  for (std::int64_t i = 0; i < input; ++i) {
    if (i >= -p.padding_lo[0] && i < input + std::min<std::int64_t>(p.padding_hi[0], 0)) positions.push_back(i);
  }
  for (std::int64_t i = 0; i < p.padding_hi[0]; ++i) positions.push_back(after[static_cast<std::size_t>(i)]);
  return positions;
}

/// Checks a convolution's axis against the definition: the filter slides over the padded input.
void expect_convolution_axis(const Problem& p) {
  const std::vector<std::int64_t> padded = padded_positions(p);
  const auto reach = p.dilation[0] * (p.kernel[0] - 1);
  std::int64_t outputs = 0;
  while (outputs * p.stride[0] + reach < static_cast<std::int64_t>(padded.size())) ++outputs;
  const auto classes = lower_axis(p, 0);
  ASSERT_EQ(1u, classes.size());
  const TapAxis& axis = classes[0];
  ASSERT_EQ(outputs, axis.grid);
  EXPECT_EQ(outputs, axis.output);
  EXPECT_EQ(p.kernel[0], axis.taps);
  EXPECT_EQ(p.kernel[0], axis.kernel);
  EXPECT_EQ(p.input[0], axis.input);
  bool inside = true;
  for (std::int64_t q = 0; q < axis.grid; ++q) {
    ASSERT_EQ(q, axis.origin + axis.step * q);
    for (std::int64_t t = 0; t < axis.taps; ++t) {
      ASSERT_EQ(t, axis.first_tap + axis.tap_step * t);
      const std::int64_t position = axis.in_step * q + axis.offset(t);
      const std::int64_t expected = padded.at(static_cast<std::size_t>(q * p.stride[0] + t * p.dilation[0]));
      ASSERT_EQ(expected, source_position(position, axis.input, p.padding_mode).value_or(-1)) << spell(p);
      inside = inside && position >= 0 && position < p.input[0];
    }
  }
  EXPECT_EQ(inside, axis.inside());
}

/// Checks a transposed convolution's axis against the definition: input i adds weight t to output i*stride + t*dilation
/// - padding_lo.
void expect_transposed_axis(const Problem& p) {
  const std::int64_t output = output_extent(p)[0];
  std::set<Triple> expected;
  std::set<std::int64_t> reached;  // by a tap of any input, were there more of them
  for (std::int64_t t = 0; t < p.kernel[0]; ++t) {
    for (std::int64_t i = 0; i < p.input[0]; ++i) {
      const std::int64_t o = i * p.stride[0] + t * p.dilation[0] - p.padding_lo[0];
      if (o >= 0 && o < output) expected.emplace(o, t, i);
    }
    for (std::int64_t o = 0; o < output; ++o) {
      if ((o + p.padding_lo[0] - t * p.dilation[0]) % p.stride[0] == 0) reached.insert(o);
    }
  }
  std::set<Triple> found;
  std::set<std::int64_t> covered;
  const auto classes = lower_axis(p, 0);
  EXPECT_LE(static_cast<std::int64_t>(classes.size()), std::min(p.kernel[0], p.stride[0]));
  for (std::size_t i = 1; i < classes.size(); ++i) EXPECT_LT(classes[i - 1].origin, classes[i].origin);
  for (const TapAxis& axis : classes) {
    EXPECT_GT(axis.taps, 0);
    EXPECT_GT(axis.grid, 0);
    EXPECT_EQ(output, axis.output);
    bool inside = true;
    for (std::int64_t q = 0; q < axis.grid; ++q) {
      const std::int64_t o = axis.origin + axis.step * q;
      ASSERT_LT(o, output);
      EXPECT_TRUE(covered.insert(o).second) << "output " << o << " twice";
      for (std::int64_t t = 0; t < axis.taps; ++t) {
        const std::int64_t tap = axis.first_tap + axis.tap_step * t, i = axis.in_step * q + axis.offset(t);
        ASSERT_GE(tap, 0);
        ASSERT_LT(tap, p.kernel[0]);
        const bool in = i >= 0 && i < p.input[0];
        inside = inside && in;
        if (in) {
          EXPECT_TRUE(found.emplace(o, tap, i).second) << "a product twice";
        }
      }
    }
    EXPECT_EQ(inside, axis.inside());
  }
  EXPECT_EQ(expected, found) << spell(p);
  EXPECT_EQ(reached, covered) << spell(p);
  EXPECT_EQ(static_cast<std::int64_t>(covered.size()) == output, reaches_all(p));
}

TEST(Lowering, EverySmallConvolutionAxis) {
  int count = 0;
  for (int input = 1; input <= 7; ++input)
    for (int kernel = 1; kernel <= 4; ++kernel)
      for (int stride = 1; stride <= 5; ++stride)
        for (int lo = -3; lo <= 4; ++lo)
          for (int hi = -3; hi <= 4; ++hi)
            for (int dilation = 1; dilation <= 3; ++dilation)
              for (const PaddingMode mode :
                   {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}) {
                Problem problem = axis_problem(Kind::convolution, input, kernel, stride, lo, hi, dilation);
                problem.padding_mode = mode;
                if (!is_valid(problem)) continue;
                expect_convolution_axis(problem);
                ++count;
                if (HasFatalFailure()) return;
              }
  EXPECT_GT(count, 30000);
}

TEST(Lowering, EverySmallTransposedAxis) {
  int count = 0, gaps = 0;
  for (int input = 1; input <= 5; ++input)
    for (int kernel = 1; kernel <= 5; ++kernel)
      for (int stride = 1; stride <= 6; ++stride)
        for (int lo = -3; lo <= 4; ++lo)
          for (int hi = -3; hi <= 4; ++hi)
            for (int dilation = 1; dilation <= 6; ++dilation)
              for (int extra : {0, 1, 2, 5}) {
                Problem problem = axis_problem(Kind::transposed, input, kernel, stride, lo, hi, dilation);
                problem.output_padding[0] = extra;
                if (!is_valid(problem)) continue;
                expect_transposed_axis(problem);
                ++count;
                gaps += !reaches_all(problem);
                if (HasFatalFailure()) return;
              }
  EXPECT_GT(count, 50000);
  EXPECT_GT(gaps, 10000) << "strides beyond the kernel leave residue classes without taps";
}

TEST(Lowering, LongTransposedStridesStaySmall) {
  Problem problem = axis_problem(Kind::transposed, 1000, 3, 1000000000, 0, 0, 7);
  EXPECT_EQ(3u, lower(problem).size());
  EXPECT_FALSE(reaches_all(problem));
}

TEST(Lowering, ReflectionAndCircleReachAsFarAsPyTorchAllows) {
  EXPECT_EQ(4, source_position(-4, 5, PaddingMode::reflect));
  EXPECT_EQ(0, source_position(8, 5, PaddingMode::reflect));
  EXPECT_EQ(0, source_position(-5, 5, PaddingMode::circular));
  EXPECT_EQ(4, source_position(9, 5, PaddingMode::circular));
  EXPECT_EQ(std::nullopt, source_position(-1, 5, PaddingMode::zeros));
  EXPECT_EQ(std::nullopt, source_position(5, 5, PaddingMode::zeros));
  EXPECT_EQ(0, source_position(-1000, 5, PaddingMode::replicate));
}

/// The combinations of three axes, one of each, with channels and strides.
TEST(Lowering, TenThousandRandomProblems) {
  for (unsigned seed = 0; seed < 10000; ++seed) {
    const Problem whole = testing::any_random_problem(seed);
    SCOPED_TRACE(seed);
    for (const Problem& problem : stages(whole)) {
      ASSERT_TRUE(is_valid(problem)) << spell(whole);
      std::map<std::int64_t, int> covered;  // by linear grid position
      const Extent output = output_extent(problem);
      std::int64_t count = 0;
      for (const TapConvolution& conv : lower(problem)) {
        EXPECT_EQ(problem.batch, conv.batch);
        EXPECT_EQ(problem.in_channels, conv.groups * conv.in_channels);
        EXPECT_EQ(problem.out_channels, conv.groups * conv.out_channels);
        EXPECT_EQ(problem.bias, conv.bias);
        EXPECT_EQ(problem.padding_mode, conv.padding_mode);
        for (int axis = 0; axis < max_rank - problem.rank; ++axis) EXPECT_EQ(TapAxis{}, conv.axis[axis]);
        for (int axis = 0; axis < problem.rank; ++axis) {
          const TapAxis& actual = conv.axis[max_rank - problem.rank + axis];
          const auto classes = lower_axis(problem, axis);
          EXPECT_EQ(1, std::ranges::count(classes, actual));
          EXPECT_EQ(output[axis], actual.output);
        }
        count += conv.grid_size();
        const std::int64_t first =
            (conv.axis[0].origin * conv.axis[1].output + conv.axis[1].origin) * conv.axis[2].output +
            conv.axis[2].origin;
        EXPECT_EQ(1, ++covered[first]) << "two tap convolutions start at one output";
      }
      const std::int64_t positions = output[0] * output[1] * output[2];
      EXPECT_EQ(count == positions, reaches_all(problem));
      EXPECT_LE(count, positions);
    }
  }
}

/// The extents of the axes after joining.
Extent joined(const std::string& text) { return with_joined_axes(parse_problem(text)).input; }

TEST(Lowering, PointwiseAxesAreJoinedInTheLast) {
  EXPECT_EQ((Extent{1, 63, 1}), joined("Conv2d(4, 8, 1) @ 2x4x7x9"));
  EXPECT_EQ((Extent{1, 1, 315}), joined("Conv3d(4, 8, 1, layout=channels_last) @ 2x4x5x7x9"));
  EXPECT_EQ((Extent{5, 1, 63}), joined("Conv3d(4, 8, (3,1,1), padding=(1,0,0)) @ 2x4x5x7x9"));
  EXPECT_EQ((Extent{1, 35, 9}), joined("Conv3d(4, 8, (1,1,3)) @ 2x4x5x7x9"));
  EXPECT_EQ((Extent{1, 63, 1}), joined("ConvTranspose2d(4, 8, 1) @ 2x4x7x9"));
  EXPECT_EQ((Extent{1, 35, 9}), joined("Conv3d(4, 8, 1) @ 2x4x5x7x9?"));
  for (const char* separate :
       {"Conv2d(4, 8, (3,1)) @ 2x4x7x9", "Conv2d(4, 8, 1, stride=(1,2)) @ 2x4x7x9", "Conv2d(4, 8, 1) @ 2x4x7?x9",
        "Conv2d(4, 8, 1, padding=(0,1)) @ 2x4x7x9", "Conv2d(4, 8, 1, padding=(-1,0)) @ 2x4x7x9",
        "ConvTranspose2d(4, 8, 1, dilation=2, output_padding=(1,0)) @ 2x4x7x9"})
    EXPECT_EQ((Extent{7, 9, 1}), joined(separate)) << separate;
}

TEST(Lowering, StridesAreThoseOfTheTensorsAsPyTorchHasThem) {
  Problem p;
  p.kind = Kind::transposed;
  p.rank = 2;
  p.batch = 2;
  p.in_channels = 6;
  p.out_channels = 4;
  p.groups = 2;
  p.input = {5, 7, 1};
  p.kernel = {3, 2, 1};
  TapConvolution conv = lower_channels(p);
  EXPECT_EQ(6 * 35, conv.input.outer);
  EXPECT_EQ(35, conv.input.inner);
  EXPECT_EQ((std::array<std::int64_t, 3>{0, 7, 1}), conv.input.axis);
  // Weight (6, 2, 3, 2): three input channels a group come before two output channels.
  EXPECT_EQ(3 * 12, conv.weight.group);
  EXPECT_EQ(12, conv.weight.in_channel);
  EXPECT_EQ(6, conv.weight.out_channel);
  EXPECT_EQ((std::array<std::int64_t, 3>{0, 2, 1}), conv.weight.axis);
  p.layout = Layout::channels_last;
  conv = lower_channels(p);
  EXPECT_EQ(1, conv.input.inner);
  EXPECT_EQ((std::array<std::int64_t, 3>{0, 42, 6}), conv.input.axis);
  EXPECT_EQ(1, conv.weight.out_channel);
  EXPECT_EQ(12, conv.weight.in_channel);
  p.kind = Kind::convolution;
  conv = lower_channels(p);
  // Weight (4, 3, 3, 2) as (4, 3, 2, 3).
  EXPECT_EQ(2 * 18, conv.weight.group);
  EXPECT_EQ(18, conv.weight.out_channel);
  EXPECT_EQ(1, conv.weight.in_channel);
  EXPECT_EQ((std::array<std::int64_t, 3>{0, 6, 3}), conv.weight.axis);
}

}  // namespace
}  // namespace tapconv
