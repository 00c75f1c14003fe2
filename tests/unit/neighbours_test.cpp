#include "workbench/neighbours.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "problem/validity.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

std::vector<std::string> changes_of(const char* text) {
  std::vector<std::string> changes;
  for (const Neighbour& neighbour : neighbours(parse_problem(text))) changes.push_back(neighbour.change);
  return changes;
}

TEST(Neighbours, OfAPlainProblem) {
  EXPECT_EQ((std::vector<std::string>{"batch 5",
                                      "batch 3",
                                      "batch 1",
                                      "7 -> 8 channels in 1 groups",
                                      "6 -> 9 channels in 1 groups",
                                      "5 -> 8 channels in 1 groups",
                                      "6 -> 7 channels in 1 groups",
                                      "7 -> 9 channels in 1 groups",
                                      "6 -> 8 channels in 2 groups",
                                      "input[0] 11",
                                      "input[0] 9",
                                      "kernel_size[0] 4",
                                      "kernel_size[0] 2",
                                      "stride[0] 2",
                                      "dilation[0] 2",
                                      "padding_lo[0] 2",
                                      "padding_lo[0] 0",
                                      "padding_hi[0] 2",
                                      "padding_hi[0] 0",
                                      "output of one position"}),
            changes_of("Conv1d(6, 8, 3, padding=1) @ 4x6x10"));
}

TEST(Neighbours, ADepthwiseProblemStaysDepthwise) {
  for (const Neighbour& neighbour : neighbours(parse_problem("Conv2d(6, 6, 3, groups=6) @ 1x6x9x9")))
    EXPECT_EQ(neighbour.problem.groups, neighbour.problem.in_channels) << neighbour.change;
}

TEST(Neighbours, AreValidDifferentAndAlwaysTheSame) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e5);
    SCOPED_TRACE(spell(problem));
    const std::vector<Neighbour> all = neighbours(problem), again = neighbours(problem);
    ASSERT_EQ(all.size(), again.size());
    EXPECT_GE(all.size(), 5u);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(again[i].problem, all[i].problem);
      EXPECT_FALSE(find_violation(all[i].problem)) << all[i].change;
      EXPECT_NE(problem, all[i].problem);
      EXPECT_EQ(problem.kind, all[i].problem.kind);
      for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[j].problem, all[i].problem);
    }
  }
}

TEST(Neighbours, HaveAnOutputOfOnePositionWhereTheFilterAllows) {
  const std::vector<Neighbour> all =
      neighbours(parse_problem("Conv2d(2, 2, (5, 3), padding=1, dilation=2) @ 1x2x20x20"));
  const auto found = std::ranges::find(all, "output of one position", &Neighbour::change);
  ASSERT_NE(all.end(), found);
  EXPECT_EQ((Extent{1, 1, 1}), output_extent(found->problem));
}

}  // namespace
}  // namespace tapconv
