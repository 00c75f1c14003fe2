// The warpgroup solver's decisions: what it takes, and its configurations. Its kernels: emulated_kernels_test.cpp.
#include <gtest/gtest.h>

#include <set>

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

TEST(Warpgroup, WhatItTakesDependsOnNoSizeAndTheOrderOnNoBatch) {
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
        Task longer = larger;
        for (std::int64_t& input : longer.problem.input) input = input * factor + 1;
        SCOPED_TRACE(spell(longer.problem));
        ASSERT_EQ(ok, solver.supports(longer, device()).ok);
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
        "Conv1d(9, 300, 3, stride=3, dilation=4) @ 2x9x5000", "Conv2d(64, 32, 1, math=tf32) @ 1x64x7x7",
        "Conv2d(512, 512, 3, padding=1) @ 1x512x7x7", "Conv2d(512, 2048, 1, math=tf32) @ 9x512x7x7"}) {
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
      EXPECT_EQ(tile.parts, read->parts);
      EXPECT_EQ(tile.splits, read->splits);
      EXPECT_EQ(tile.cluster, read->cluster);
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
        with("rows=", "rows=both"), with("pairs=", "pairs=36"), with("pairs=", "pairs=65536"), good + " splits=1",
        good + " splits=1 cluster=1", good + " splits=2 cluster=1", good + " splits=2 cluster=2"})
    EXPECT_FALSE(parse_warpgroup_tile(task, bad, device())) << bad;
  testing::expect_error(
      [&] { (void)solver.plan(task, "threads=128", device()); },
      "configuration of warpgroup = \"threads=128\"; valid: one of its candidates for Conv2d(64, 128");
}

TEST(Warpgroup, TakesPixelsFromRegistersForOneTapOrStridesOfRowsOfFours) {
  const auto registers = [](const std::string& problem) {
    return std::ranges::count_if(warpgroup_tiles(task_of(problem), device()), &shared::WarpgroupTile::from_registers);
  };
  EXPECT_LT(0, registers("Conv2d(64, 128, 1, math=tf32) @ 8x64x57x57"));
  EXPECT_LT(0, registers("Conv1d(64, 512, 7, stride=2, math=tf32) @ 1x64x4000"));
  EXPECT_LT(0, registers("Conv1d(64, 512, 4, stride=2) @ 1x64x4000"));
  EXPECT_LT(0, registers("Conv2d(512, 2048, 1) @ 1x512x5x5"));
  EXPECT_EQ(0, registers("Conv1d(64, 512, 7, math=tf32) @ 1x64x4000"));
  EXPECT_EQ(0, registers("Conv1d(64, 512, 5, stride=2) @ 1x64x4000"));
  EXPECT_EQ(0, registers("Conv1d(64, 512, 7, stride=2, math=tf32) @ 1x64x4001"));
  EXPECT_EQ(0, registers("Conv1d(64, 512, 3, stride=2, padding=1, padding_mode=reflect) @ 1x64x4000"));
  EXPECT_EQ(0, registers("Conv2d(64, 512, (5,3)) @ 1x64x40x40"));
}

TEST(Warpgroup, StoresWholeRowsOrThoseOfTaps) {
  const auto axis = [](long long stride, long long dilation, long long padding, long long kernel) {
    return shared::copied_axis(
        {.input = 4000, .output = 4000, .kernel = kernel, .stride = stride, .dilation = dilation, .padding = padding},
        64);
  };
  for (const auto& [stored, step, length, lead] : {std::tuple{axis(1, 1, 0, 1), 1, 64, 0},
                                                   {axis(1, 1, 1, 3), 1, 72, 3},
                                                   {axis(3, 4, 0, 3), 3, 200, 0},
                                                   {axis(2, 1, 3, 7), 2, 136, 1},
                                                   {axis(1, 100, 100, 3), 1, 64, 0}}) {
    EXPECT_TRUE(stored.in_fours);
    EXPECT_EQ(step, stored.step);
    EXPECT_EQ(length, stored.length);
    EXPECT_EQ(lead, stored.lead);
    // Each tap of each output is where it is looked for, and each four begin at a multiple of it.
    for (int tap = 0; tap < stored.taps; ++tap)
      for (int q = 0; q < 64; ++q)
        EXPECT_EQ((72 + q) * stored.stride + tap * stored.dilation + stored.first,
                  stored.position(72, q * stored.step + stored.offset(tap)));
    for (int four = 0; four < stored.count(); four += 4) {
      EXPECT_EQ(0, stored.position(72, four) % 4);
      EXPECT_EQ(stored.position(72, four) + 3, stored.position(72, four + 3));
    }
  }
  EXPECT_FALSE(axis(1, 501, 0, 3).in_fours);
  EXPECT_FALSE(axis(5, 1, 0, 1).in_fours);
}

// Every output that a tap reaches is one place of one class, and each of its taps is one of the forward convolution's.
TEST(Forward, HasEveryTapOfEveryOutputOnce) {
  const auto expect_right = [](long long input, long long kernel, long long stride, long long dilation,
                               long long padding) {
    SCOPED_TRACE(fmt::format("{} {} {} {} {}", input, kernel, stride, dilation, padding));
    const long long output = (input - 1) * stride + dilation * (kernel - 1) + 1 - padding;
    if (output < 1) return;
    const Problem problem =
        parse_problem(fmt::format("ConvTranspose1d(8, 8, {}, stride={}, dilation={}, padding=(({},0),)) @ 1x8x{}",
                                  kernel, stride, dilation, padding, input));
    const shared::Axis axis = shared_axis(problem, 0), forward = shared::forward_axis(axis);
    std::set<std::array<long long, 3>> expected, found;  // output, position, filter's tap
    for (long long i = 0; i < input; ++i)
      for (long long t = 0; t < kernel; ++t) {
        const long long o = i * stride + t * dilation - padding;
        if (o >= 0 && o < axis.output) expected.insert({o, i, t});
      }
    for (int c = 0; c < shared::tap_classes(axis, true); ++c) {
      const long long origin = shared::forward_origin(axis, c);
      EXPECT_EQ(shared::forward_class(axis, c).origin, origin);
      for (long long q = 0; q < forward.output && origin + q * stride < axis.output; ++q)
        for (int u = 0; u < forward.kernel; ++u) {
          const long long t = shared::forward_tap(axis, forward, c, u);
          const long long i = q + u * forward.dilation - forward.padding;
          if (t < 0 || i < 0 || i >= input) continue;
          EXPECT_TRUE(found.insert({origin + q * stride, i, t}).second);
        }
    }
    EXPECT_EQ(expected, found);
  };
  for (long long kernel = 1; kernel <= 7; ++kernel)
    for (long long stride = 1; stride <= 6; ++stride)
      for (long long dilation = 1; dilation <= 4; ++dilation)
        for (const long long padding : {-3, 0, 1, 2, 5}) expect_right(9, kernel, stride, dilation, padding);
}

int splits_of(const std::string& text) { return warpgroup_tiles(task_of(text), device()).front().splits; }

TEST(Warpgroup, CutsSumsUpWhereOneImageLeavesTheDeviceIdle) {
  // What fills the device, however large the batch.
  EXPECT_EQ(1, splits_of("Conv2d(64, 128, (5,7), math=tf32) @ 1x64x256x512"));
  EXPECT_EQ(1, splits_of("Conv2d(512, 512, 3, padding=1) @ 1x512x64x64"));
  EXPECT_EQ(8, splits_of("Conv2d(512, 512, 3, padding=1) @ 1x512x7x7"));
  EXPECT_EQ(8, splits_of("Conv2d(512, 512, 3, padding=1) @ 64x512x7x7"));
  EXPECT_EQ(8, splits_of("Conv2d(512, 512, 3, padding=1) @ 1?x512x7x7"));
  EXPECT_EQ(2, splits_of("Conv1d(768, 1536, 1, math=tf32) @ 1x768x896"));
  EXPECT_EQ(4, splits_of("Conv2d(256, 256, 3, padding=1, math=tf32) @ 1x256x40x40"));
  // Parts have to be worth the exchange.
  EXPECT_EQ(1, splits_of("Conv2d(40, 64, 3, math=tf32) @ 1x40x9x9"));
  EXPECT_EQ(2, splits_of("Conv2d(48, 64, 3, math=tf32) @ 1x48x9x9"));
  EXPECT_EQ(1, splits_of("Conv2d(352, 64, 1, math=tf32) @ 1x352x7x7"));
  EXPECT_EQ(2, splits_of("Conv2d(384, 64, 1, math=tf32) @ 1x384x7x7"));
}

TEST(Warpgroup, CutsSumsUpAlikeAtALaunchAndBefore) {
  // The most that any size has; a launch finds the number of its own, which is that of a plan for that size alone.
  const Task dynamic = task_of("Conv2d(512, 512, 3, padding=1) @ 1x512x64?x64?");
  const shared::WarpgroupTile tile = warpgroup_tiles(dynamic, device()).front();
  EXPECT_EQ(8, tile.splits);
  const shared::WarpgroupLayout layout = shared::warpgroup_layout(shape_of(dynamic), tile);
  for (const int size : {1, 7, 14, 28, 56, 200}) {
    const long long outputs[] = {1, size, size};
    EXPECT_EQ(splits_of(fmt::format("Conv2d(512, 512, 3, padding=1) @ 1x512x{0}x{0}", size)),
              shared::reduction_splits(shape_of(dynamic), outputs, layout.chunks, layout.pairs));
  }
  for (const shared::WarpgroupTile& one : warpgroup_tiles(dynamic, device())) EXPECT_EQ(1, one.cluster);
}

TEST(Warpgroup, PartsAreAllChunks) {
  for (const int splits : {1, 2, 4, 8}) {
    for (const int chunks : {8, 9, 15, 64, 1000, 1 << 30}) {
      EXPECT_EQ(0, shared::part_begin(chunks, splits, 0));
      EXPECT_EQ(chunks, shared::part_begin(chunks, splits, splits));
      for (int part = 0; part < splits; ++part) {
        const int length = shared::part_begin(chunks, splits, part + 1) - shared::part_begin(chunks, splits, part);
        EXPECT_GE(length, chunks / splits);
        EXPECT_LE(length, chunks / splits + 1);
      }
    }
  }
}

TEST(Warpgroup, OffersPartsInOneBlockAndInSeveral) {
  const WarpgroupSolver solver;
  for (const char* text :
       {"Conv2d(512, 512, 3, padding=1) @ 1x512x7x7", "Conv2d(512, 512, 3, padding=1, math=tf32) @ 9x512x7x7",
        "Conv2d(512, 2048, 1, math=tf32) @ 1x512x7x7", "Conv1d(768, 1536, 1, math=tf32) @ 1x768x896",
        "Conv2d(64, 64, 3, padding=1, math=tf32) @ 1x64x56x56"}) {
    const Task task = task_of(text);
    std::set<int> clusters;
    std::set<std::string> orders;
    for (const Candidate& candidate : solver.candidates(task, device())) {
      const KernelPlan plan = solver.plan(task, candidate.configuration, device());
      const cuda::LaunchShape launch = plan.launch(sizes_of(task.problem, task.strided));
      EXPECT_EQ(0, launch.grid[0] % launch.cluster);
      EXPECT_EQ(launch.cluster > 1, plan.source.text.find("__cluster_dims__") != std::string::npos);
      clusters.insert(launch.cluster);
      orders.insert(plan.k_order);
    }
    EXPECT_EQ((std::set{1, splits_of(text)}), clusters) << text;
    EXPECT_EQ(1u, orders.size()) << text;
  }
}

TEST(Warpgroup, SaysWhyNot) {
  const WarpgroupSolver solver;
  const auto reason = [&](const std::string& text) { return solver.supports(task_of(text), device()).reason; };
  EXPECT_EQ("", reason("Conv2d(5, 8, 3) @ 1x5x9x9"));
  EXPECT_EQ("4 input channels of a group: less than five waste too much of an instruction",
            reason("Conv2d(4, 8, 3) @ 1x4x9x9"));
  EXPECT_EQ("7 output channels of a group: an instruction makes eight at least", reason("Conv2d(5, 7, 3) @ 1x5x9x9"));
  EXPECT_EQ("ieee allows no products of TF32 numbers", reason("Conv2d(8, 8, 3, math=ieee) @ 1x8x9x9"));
  EXPECT_EQ("operands other than float32", reason("Conv2d(8, 8, 3, dtype=float16) @ 1x8x9x9"));
  EXPECT_EQ("", reason("ConvTranspose2d(8, 8, 3, stride=2) @ 1x8x9x9"));
  EXPECT_EQ("the stride's residues have so few taps in common that most of their weights would be zeros",
            reason("ConvTranspose2d(8, 8, 5, stride=4, dilation=3) @ 1x8x9x9"));
  EXPECT_EQ("", reason("ConvTranspose2d(8, 8, 3) @ 1x8x9x9"));
  EXPECT_EQ("a stride or dilation of more than 1099511627776",
            reason("Conv1d(64, 64, 1, stride=288230376151711744) @ 1x64x64"));
  EXPECT_EQ("more than 1073741824 input channels of a group", reason("Conv1d(137438953536, 8, 1) @ 1x137438953536x1"));
  EXPECT_EQ("no tile of it fits into shared memory", reason("Conv2d(8, 8, 63) @ 1x8x99x99"));
  Task task = task_of("Conv2d(8, 8, 3) @ 1x8x9x9");
  DeviceModel other = device();
  other.facts.compute_minor = 9;
  EXPECT_EQ("the instructions are those of compute capability 9.0", solver.supports(task, other).reason);
}

}  // namespace
}  // namespace tapconv
