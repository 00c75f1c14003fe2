#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "broken_problems.hpp"
#include "broken_result.hpp"
#include "workbench/diagnosis.hpp"

namespace tapconv {
namespace {

using namespace testing;

TEST(DiagnosisPattern, NamesWhatWasNotWritten) {
  using Index = BrokenResult::Index;
  struct Hole {
    const char *cause, *where;
    const char* problem;
    std::function<bool(const Index&)> holds;
  };
  const std::vector<Hole> holes{
      {"unwritten", "All outputs", conv2d, [](const Index&) { return true; }},
      {"unwritten-tile", "Channels 2 to 3, rows 4 to 7, columns 3 to 5", conv2d,
       [](const Index& i) { return i[1] / 2 == 1 && i[2] / 4 == 1 && i[3] / 3 == 1; }},
      {"unwritten-tile", "Image 1, channel 3, row 7, column 2", conv2d,
       [](const Index& i) {
         return i == Index{1, 3, 7, 2};
       }},
      {"unwritten-tail", "Columns 8 to 9", last2d, [](const Index& i) { return i[3] >= 8; }},
      {"unwritten-tail", "Positions 16 to 22", conv1d, [](const Index& i) { return i[2] >= 16; }},
      {"unwritten-tail", "in the order of indices", conv2d,
       [](const Index& i) { return ((i[0] * 6 + i[1]) * 11 + i[2]) * 9 + i[3] >= 700; }},
      {"unwritten-tail", "in the order of memory", last2d,
       [](const Index& i) { return ((i[0] * 9 + i[2]) * 10 + i[3]) * 6 + i[1] >= 700; }},
      {"unwritten-tail", "outside rows 0 to 7, columns 0 to 7", conv2d,
       [](const Index& i) { return i[2] >= 8 || i[3] >= 8; }},
      {"border-skipped", "outside rows 1 to 9, columns 1 to 7", conv2d,
       [](const Index& i) { return i[2] == 0 || i[2] == 10 || i[3] == 0 || i[3] == 8; }},
      {"border-skipped", "outside positions 2 to 20", conv1d, [](const Index& i) { return i[2] < 2 || i[2] > 20; }},
      {"border-skipped", "outside slices", conv3d,
       [](const Index& i) { return i[2] % 6 == 0 || i[3] % 7 == 0 || i[4] % 5 == 0; }},
      {"unwritten-phase", "mod 2 = 1", transposed1d, [](const Index& i) { return i[2] % 2 == 1; }},
      {"unwritten-phase", "Columns with index mod 3 = 2", transposed2d, [](const Index& i) { return i[3] % 3 == 2; }},
  };
  for (const Hole& hole : holes) {
    SCOPED_TRACE(std::string(hole.where) + " on " + hole.problem);
    BrokenResult result(parse_problem(hole.problem), {}, 7);
    result.leave_unwritten(hole.holds);
    const Diagnosis d = result.diagnose();
    EXPECT_EQ(hole.cause, d.cause) << said(d);
    EXPECT_NE(std::string::npos, d.sentence.find(hole.where)) << said(d);
    EXPECT_GT(d.unwritten_share, 0);
    EXPECT_EQ(0, d.nan_share);
  }
}

TEST(DiagnosisPattern, NamesOtherContents) {
  using Index = BrokenResult::Index;
  const auto rows = [](const Index& i) { return i[2] >= 4 && i[2] < 8; };
  const auto tail = [](const Index& i) { return i[2] >= 8; };
  const auto border = [](const Index& i) { return i[2] == 0 || i[2] == 10 || i[3] == 0 || i[3] == 8; };
  const Problem problem = parse_problem(conv2d);
  const auto with = [&](const auto& holds, const auto& value) {
    BrokenResult result(problem, {}, 7);
    result.change([&](const Index& i, double right) { return holds(i) ? value(result, i, right) : right; });
    return result.diagnose();
  };
  const auto zero = [](const auto&, const Index&, double) { return 0.0; };
  const auto nan = [](const auto&, const Index&, double) { return std::nan(""); };
  const auto anything = [](const auto&, const Index& i, double right) {
    return right + 2 + std::sin(static_cast<double>(7 * i[1] + 3 * i[2] + 11 * i[3] + i[0]));
  };
  EXPECT_EQ("zero-tile", with(rows, zero).cause);
  EXPECT_EQ("zero-tail", with(tail, zero).cause);
  EXPECT_EQ("border-skipped", with(border, zero).cause);
  EXPECT_EQ("nan-padding", with(border, nan).cause);
  EXPECT_EQ("nan-tile", with(rows, nan).cause);
  EXPECT_EQ("garbage-tile", with(rows, anything).cause);
  EXPECT_EQ("garbage-tail", with(tail, anything).cause);
  EXPECT_EQ("border-wrong", with(border, anything).cause);

  BrokenResult stale(problem, {}, 7);
  stale.overwrite(rows, [&](std::size_t byte) { return stale.earlier[byte]; });
  EXPECT_EQ("stale-tile", stale.diagnose(false).cause);
  stale.output = stale.earlier;
  EXPECT_EQ("stale-output", stale.diagnose(false).cause);
}

TEST(DiagnosisPattern, NamesAClampedGrid) {
  using Index = BrokenResult::Index;
  // Planes, rows, and tiles of two positions, on grids that end at 65535.
  for (const auto& [spelled, first] : {std::pair{"Conv1d(1, 66000, 2, bias=False) @ 1x1x4", std::int64_t{65535 * 3}},
                                       {"Conv2d(1, 2, 1) @ 1x1x40000x3", std::int64_t{65535 * 3}},
                                       {"Conv1d(1, 1, 3) @ 1x1x140000", std::int64_t{65535 * 2}}}) {
    SCOPED_TRACE(spelled);
    const Problem problem = parse_problem(spelled);
    const std::vector<std::int64_t> shape = output_shape(problem);
    const auto behind = [&, from = first](const Index& i) {
      std::int64_t linear = 0;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) linear = linear * shape[axis] + i[axis];
      return linear >= from;
    };
    BrokenResult unwritten(problem, {}, 7);
    unwritten.leave_unwritten(behind);
    EXPECT_EQ("grid-clamped", unwritten.diagnose().cause) << said(unwritten.diagnose());
    BrokenResult zero(problem, {}, 7);
    zero.change([&](const Index& i, double right) { return behind(i) ? 0 : right; });
    EXPECT_EQ("grid-clamped", zero.diagnose().cause) << said(zero.diagnose());
  }
}

}  // namespace
}  // namespace tapconv
