// The warpgroup solver's decisions: what it takes, and its configurations. Its kernels: emulated_kernels_test.cpp.
#include <gtest/gtest.h>

#include "h200.hpp"
#include "plan/planner.hpp"
#include "problem/text.hpp"
#include "random_problem.hpp"
#include "solver/warpgroup.hpp"
#include "solver/warpgroup_tile.hpp"
#include "strided.hpp"

namespace tapconv {
namespace {

const DeviceModel& device() {
  static const DeviceModel model = device_model(testing::h200());
  return model;
}

Task task_of(const std::string& text) { return tasks_of(parse_problem(text)).front(); }

TEST(Warpgroup, WhatItTakesDependsOnNoSize) {
  const WarpgroupSolver solver;
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (Task task : tasks_of(testing::any_random_problem(seed))) {
      const bool ok = solver.supports(task, device()).ok;
      taken += ok;
      const std::string order =
          ok ? solver.plan(task, solver.candidates(task, device()).front().configuration, device()).k_order : "";
      for (const std::int64_t factor : {2, 7}) {
        Task larger = task;
        larger.problem.batch *= factor;
        for (std::int64_t& input : larger.problem.input) input = input * factor + 1;
        SCOPED_TRACE(spell(larger.problem));
        ASSERT_EQ(ok, solver.supports(larger, device()).ok);
        if (!ok) continue;
        const std::string configuration = solver.candidates(larger, device()).front().configuration;
        EXPECT_EQ(order, solver.plan(larger, configuration, device()).k_order);
      }
    }
  }
  EXPECT_GT(taken, 20);
}

TEST(Warpgroup, EveryTileIsReadFromItsText) {
  for (const char* text :
       {"Conv2d(64, 128, (5,7), math=tf32) @ 8x64x100x90", "Conv3d(24, 40, 3, padding=1) @ 2x24x9x17x33",
        "Conv1d(9, 300, 3, stride=3, dilation=4) @ 2x9x5000", "Conv2d(64, 32, 1, math=tf32) @ 1x64x7x7"}) {
    const Task task = task_of(text);
    SCOPED_TRACE(text);
    std::set<std::string> seen;
    for (const shared::WarpgroupTile& tile : warpgroup_tiles(task, device())) {
      const std::string spelled = tapconv::text(tile);
      EXPECT_TRUE(seen.insert(spelled).second) << "twice: " << spelled;
      const auto read = parse_warpgroup_tile(task, spelled, device());
      ASSERT_TRUE(read.has_value()) << spelled;
      EXPECT_EQ(spelled, tapconv::text(*read));
      EXPECT_EQ(tile.steps, read->steps);
      EXPECT_EQ(tile.promoted, read->promoted);
    }
    EXPECT_GT(seen.size(), 3u);
  }
}

TEST(Warpgroup, WhatIsNoTileIsRefused) {
  const Task task = task_of("Conv2d(64, 128, (5,7), math=tf32) @ 8x64x100x90");
  const WarpgroupSolver solver;
  const std::string good = solver.candidates(task, device()).front().configuration;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    const std::size_t place = changed.find(from);
    EXPECT_NE(std::string::npos, place) << good;
    return changed.replace(place, changed.find(' ', place) - place, to);
  };
  for (const std::string& bad :
       {std::string(), std::string("threads=128"), good + " ", " " + good, good + ",9", with("columns=", "columns=-8"),
        with("columns=", "columns=12"), with("columns=", "columns=99999999999"), with("segments=", "segments=0"),
        with("tile=", "tile=1x1x1x7"), with("tile=", "tile=64x64x256x512"), with("groups=", "groups=X"),
        with("rows=", "rows=both"), with("pairs=", "pairs=36")})
    EXPECT_FALSE(parse_warpgroup_tile(task, bad, device())) << bad;
  testing::expect_error(
      [&] { (void)solver.plan(task, "threads=128", device()); },
      "configuration of warpgroup = \"threads=128\"; valid: one of its candidates for Conv2d(64, 128");
}

TEST(Warpgroup, SaysWhyNot) {
  const WarpgroupSolver solver;
  const auto reason = [&](const std::string& text) { return solver.supports(task_of(text), device()).reason; };
  EXPECT_EQ("", reason("Conv2d(5, 8, 3) @ 1x5x9x9"));
  EXPECT_EQ("4 input channels of a group: an instruction takes eight", reason("Conv2d(4, 8, 3) @ 1x4x9x9"));
  EXPECT_EQ("7 output channels of a group: an instruction makes eight at least", reason("Conv2d(5, 7, 3) @ 1x5x9x9"));
  EXPECT_EQ("ieee allows no products of TF32 numbers", reason("Conv2d(8, 8, 3, math=ieee) @ 1x8x9x9"));
  EXPECT_EQ("operands other than float32", reason("Conv2d(8, 8, 3, dtype=float16) @ 1x8x9x9"));
  EXPECT_EQ("a transposed convolution with a stride", reason("ConvTranspose2d(8, 8, 3, stride=2) @ 1x8x9x9"));
  EXPECT_EQ("", reason("ConvTranspose2d(8, 8, 3) @ 1x8x9x9"));
  EXPECT_EQ("no tile of it fits into shared memory", reason("Conv2d(8, 8, 63) @ 1x8x99x99"));
  Task task = task_of("Conv2d(8, 8, 3) @ 1x8x9x9");
  DeviceModel other = device();
  other.facts.compute_minor = 9;
  EXPECT_EQ("the instructions are those of compute capability 9.0", solver.supports(task, other).reason);
}

}  // namespace
}  // namespace tapconv
