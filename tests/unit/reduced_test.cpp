#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "extreme_problem.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// Which taps of an output position along `axis` meet the input, a bit each, for every output position. Kernels of at
/// most 64.
std::set<std::uint64_t> meetings(const Problem& p, int axis) {
  std::set<std::uint64_t> all;
  for (std::int64_t output = 0; output < output_extent(p)[axis]; ++output) {
    std::uint64_t mask = 0;
    for (std::int64_t tap = 0; tap < p.kernel[axis]; ++tap) {
      bool meets = false;
      if (p.kind == Kind::transposed) {
        const std::int64_t from = output + p.padding_lo[axis] - tap * p.dilation[axis];
        meets = from >= 0 && from % p.stride[axis] == 0 && from / p.stride[axis] < p.input[axis];
      } else {
        const std::int64_t at = output * p.stride[axis] + tap * p.dilation[axis] - p.padding_lo[axis];
        meets = at >= 0 && at < p.input[axis];
      }
      if (meets) mask |= std::uint64_t{1} << tap;
    }
    all.insert(mask);
  }
  return all;
}

/// What holds for every problem.
void expect_reduced(const Problem& problem) {
  const Problem small = reduced(problem);
  EXPECT_NO_THROW(validate(small));
  EXPECT_EQ(reduced(problem), small) << "not deterministic";
  EXPECT_EQ(reduced(small), small) << "not the end of it";

  Problem restored = small;
  restored.batch = problem.batch;
  restored.in_channels = problem.in_channels;
  restored.out_channels = problem.out_channels;
  restored.groups = problem.groups;
  restored.depth_multiplier = problem.depth_multiplier;
  restored.input = problem.input;
  EXPECT_EQ(restored, problem) << "something else than sizes differs";

  EXPECT_LE(small.batch, std::min<std::int64_t>(problem.batch, 2));
  EXPECT_LE(small.groups, std::min<std::int64_t>(problem.groups, 16));
  EXPECT_LE(small.in_channels / small.groups, std::min<std::int64_t>(problem.in_channels / problem.groups, 16));
  EXPECT_LE(small.out_channels / small.groups, std::min<std::int64_t>(problem.out_channels / problem.groups, 16));
  EXPECT_LE(small.depth_multiplier, std::min<std::int64_t>(problem.depth_multiplier, 16));
  EXPECT_EQ(small.batch > 1, problem.batch > 1);
  EXPECT_EQ(small.groups > 1, problem.groups > 1);
  EXPECT_EQ(small.in_channels == small.groups, problem.in_channels == problem.groups);
  for (int axis = 0; axis < problem.rank; ++axis) EXPECT_LE(small.input[axis], problem.input[axis]);
}

/// What holds where the filter allows.
void expect_small_and_whole(const Problem& problem) {
  const Problem small = reduced(problem);
  EXPECT_LE(work(small).flop, 2e6);
  EXPECT_LE(work(small).byte, 4e6);
  for (int axis = 0; axis < problem.rank; ++axis) {
    EXPECT_EQ(meetings(small, axis), meetings(problem, axis)) << "other borders on axis " << axis;
    const auto rest = [&](const Problem& p) {
      return p.kind == Kind::transposed ? output_extent(p)[axis] % p.stride[axis] : p.input[axis] % p.stride[axis];
    };
    EXPECT_EQ(rest(small), rest(problem)) << "another end on axis " << axis;
  }
}

TEST(Reduced, EveryListedProblemIsSmallAndWhole) {
  for (const ProblemList& list : problem_lists()) {
    for (const NamedProblem& named : list.problems) {
      SCOPED_TRACE(named.name + ": " + spell(reduced(named.problem)));
      expect_reduced(named.problem);
      expect_small_and_whole(named.problem);
    }
  }
}

TEST(Reduced, RandomProblemsAreSmallAndWhole) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_reduced(problem);
    expect_small_and_whole(problem);
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(Reduced, ExtremeRandomProblemsStayValid) {
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    const Problem problem = testing::extreme_problem(seed);
    try {
      validate(problem);
    } catch (const Error&) {
      continue;
    }
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_reduced(problem);
    ++valid;
  }
  EXPECT_GE(valid, 1000);
}

TEST(Reduced, ATypicalLayer) {
  Problem layer;
  layer.batch = 64;
  layer.in_channels = 256;
  layer.out_channels = 512;
  layer.input = {56, 57, 1};
  layer.kernel = {3, 3, 1};
  layer.stride = {2, 2, 1};
  layer.padding_lo = layer.padding_hi = {1, 1, 0};
  Problem small = layer;
  small.batch = 2;
  small.in_channels = small.out_channels = 16;
  small.input = {10, 9, 1};  // 3 for the filter and 3 strides, then up to what is even or odd as before
  EXPECT_EQ(reduced(layer), small);
}

TEST(Reduced, ASmallProblemStaysAsItIs) {
  Problem problem;
  problem.input = {3, 4, 1};
  problem.kernel = {3, 3, 1};
  EXPECT_EQ(reduced(problem), problem);
}

TEST(Reduced, ExtremeProblemsStayValid) {
  const auto change = [](auto&& apply) {
    Problem problem;
    problem.rank = 1;
    apply(problem);
    return problem;
  };
  constexpr std::int64_t huge = std::int64_t{1} << 58;
  const Problem extremes[] = {
      change([](Problem& p) { p.input[0] = huge; }),
      change([](Problem& p) {
        p.input[0] = huge;
        p.stride[0] = huge / 2 + 1;
      }),
      change([](Problem& p) { p.stride[0] = std::numeric_limits<std::int64_t>::max(); }),
      change([](Problem& p) {
        p.input[0] = huge;
        p.padding_lo[0] = p.padding_hi[0] = -huge / 2 + 1;
      }),
      change([](Problem& p) { p.padding_lo[0] = p.padding_hi[0] = huge; }),
      change([](Problem& p) {
        p.input[0] = huge;
        p.kernel[0] = 2;
        p.dilation[0] = huge - 1;
      }),
      change([](Problem& p) {
        p.input[0] = p.kernel[0] = huge;
        p.padding_lo[0] = 5;
      }),
      change([](Problem& p) {
        p.groups = p.in_channels = huge / 4;
        p.out_channels = huge / 2;
      }),
      change([](Problem& p) {
        p.kind = Kind::depthwise_separable;
        p.in_channels = p.out_channels = p.depth_multiplier = 1 << 18;
      }),
      change([](Problem& p) {
        p.input[0] = 1 << 30;
        p.padding_mode = PaddingMode::reflect;
        p.padding_lo[0] = (1 << 30) - 1;
      }),
      change([](Problem& p) {
        p.input[0] = p.padding_hi[0] = 1 << 30;
        p.padding_mode = PaddingMode::circular;
        p.stride[0] = 3;
      }),
      change([](Problem& p) {
        p.kind = Kind::transposed;
        p.input[0] = huge;
      }),
      change([](Problem& p) {
        p.kind = Kind::transposed;
        p.input[0] = 3;
        p.stride[0] = huge;
        p.output_padding[0] = huge - 1;
      }),
      change([](Problem& p) {
        p.kind = Kind::transposed;
        p.padding_lo[0] = p.padding_hi[0] = -huge;
      }),
      change([](Problem& p) {
        p.kind = Kind::transposed;
        p.input[0] = huge;
        p.padding_lo[0] = huge - 1;
      }),
      change([](Problem& p) {
        p.kind = Kind::transposed;
        p.input[0] = 1 << 20;
        p.kernel[0] = 3;
        p.stride[0] = 7;
        p.dilation[0] = huge;
        p.padding_lo[0] = p.padding_hi[0] = huge;
      }),
      change([](Problem& p) {
        p.rank = 2;
        p.input = p.kernel = {1'000'000, 1'000'000, 1};
      }),
  };
  for (const Problem& problem : extremes) {
    SCOPED_TRACE(&problem - extremes);
    ASSERT_NO_THROW(validate(problem));
    expect_reduced(problem);
  }
}

}  // namespace
}  // namespace tapconv
