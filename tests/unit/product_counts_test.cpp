#include "problem/product_counts.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "extreme_problem.hpp"
#include "oracle/prediction_sums.hpp"
#include "problem/validity.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

/// Taps of one axis that meet the input at an output position, by PyTorch's definition.
std::int64_t met(const Problem& p, int axis, std::int64_t output) {
  std::int64_t count = 0;
  for (std::int64_t tap = 0; tap < p.kernel[axis]; ++tap) {
    if (p.padding_mode != PaddingMode::zeros) {
      ++count;
      continue;
    }
    if (p.kind != Kind::transposed) {
      const std::int64_t input = output * p.stride[axis] + tap * p.dilation[axis] - p.padding_lo[axis];
      count += input >= 0 && input < p.input[axis];
      continue;
    }
    const std::int64_t scaled = output + p.padding_lo[axis] - tap * p.dilation[axis];
    count += scaled >= 0 && scaled % p.stride[axis] == 0 && scaled / p.stride[axis] < p.input[axis];
  }
  return count;
}

ProductCounts by_definition(const Problem& p) {
  const Extent output = output_extent(p);
  ProductCounts counts{.least = std::numeric_limits<std::int64_t>::max()};
  double total = 0;
  for (std::int64_t a = 0; a < output[0]; ++a) {
    for (std::int64_t b = 0; b < output[1]; ++b) {
      for (std::int64_t c = 0; c < output[2]; ++c) {
        const std::int64_t place[] = {a, b, c};
        std::int64_t products = p.in_channels / p.groups;
        for (int axis = 0; axis < p.rank; ++axis) products *= met(p, axis, place[axis]);
        counts.least = std::min(counts.least, products);
        counts.most = std::max(counts.most, products);
        total += static_cast<double>(products);
      }
    }
  }
  counts.mean = total / static_cast<double>(output[0] * output[1] * output[2]);
  return counts;
}

TEST(ProductCounts, AreThoseOfTheDefinition) {
  int padded = 0, unreached = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    for (const Problem& stage : stages(testing::any_random_problem(seed, 1e6))) {
      SCOPED_TRACE(spell(stage));
      const ProductCounts expected = by_definition(stage), found = product_counts(stage);
      EXPECT_EQ(expected.least, found.least);
      EXPECT_EQ(expected.most, found.most);
      EXPECT_NEAR(expected.mean, found.mean, 1e-12 * expected.mean);
      padded += found.least < found.most;
      unreached += found.least == 0;
    }
  }
  EXPECT_GT(padded, 300);
  EXPECT_GT(unreached, 100);
}

TEST(ProductCounts, ByHand) {
  const ProductCounts padded = product_counts(parse_problem("Conv2d(3, 8, 3, padding=1) @ 1x3x9x9"));
  EXPECT_EQ(12, padded.least);
  EXPECT_EQ(27, padded.most);
  EXPECT_DOUBLE_EQ(3 * 25.0 * 25 / 81, padded.mean);
  EXPECT_EQ(27, product_counts(parse_problem("Conv2d(3, 8, 3, padding=1, padding_mode='circular') @ 1x3x9x9")).least);
  const ProductCounts sparse = product_counts(parse_problem("ConvTranspose1d(4, 8, 2, stride=3) @ 1x4x10"));
  EXPECT_EQ(0, sparse.least);
  EXPECT_EQ(4, sparse.most);
  EXPECT_DOUBLE_EQ(4 * 20.0 / 29, sparse.mean);
}

TEST(ProductCounts, LongAxesTakeNoTime) {
  const ProductCounts data = product_counts(parse_problem("Conv1d(1, 1, 3, padding=1) @ 1x1x1000000000000000"));
  EXPECT_EQ(2, data.least);
  EXPECT_EQ(3, data.most);
  EXPECT_DOUBLE_EQ(3 - 2e-15, data.mean);
  const ProductCounts filter =
      product_counts(parse_problem("Conv1d(1, 1, 1000000000000000, padding=2) @ 1x1x1000000000000000"));
  EXPECT_EQ(999999999999998, filter.least);
  EXPECT_EQ(1000000000000000, filter.most);
  EXPECT_DOUBLE_EQ(1e15 - 6.0 / 5, filter.mean);
  const ProductCounts padding = product_counts(parse_problem("Conv1d(1, 1, 2, padding=1000000000000) @ 1x1x3"));
  EXPECT_EQ(0, padding.least);
  EXPECT_EQ(2, padding.most);
}

TEST(ProductCounts, ExtremeProblemsOverflowNothing) {
  int seen = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const Problem problem = testing::extreme_problem(seed);
    if (find_violation(problem) || problem.kind != Kind::convolution) continue;
    ++seen;
    const ProductCounts counts = product_counts(problem);
    EXPECT_GE(counts.least, 0);
    EXPECT_LE(counts.least, counts.most);
    EXPECT_GE(counts.mean, static_cast<double>(counts.least) * (1 - 1e-9));
    EXPECT_LE(counts.mean, static_cast<double>(counts.most) * (1 + 1e-9));
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace tapconv
