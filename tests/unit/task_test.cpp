#include "solver/task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "h200.hpp"
#include "plan/planner.hpp"
#include "random_problem.hpp"
#include "solver/direct_tile.hpp"

namespace tapconv {
namespace {

Task task_of(const Problem& problem) { return tasks_of(problem).front(); }
Task task_of(const char* text) { return task_of(parse_problem(text)); }

/// Every number that a kernel takes from the launch if its constant is 0, in one order for Shape and Sizes.
std::vector<long long> numbers(long long batch, const std::array<long long, 6>& extents,
                               std::initializer_list<shared::Strides> tensors, const shared::WeightStrides& weight) {
  std::vector<long long> all{batch};
  all.insert(all.end(), extents.begin(), extents.end());
  for (const shared::Strides& strides : tensors) {
    all.insert(all.end(), {strides.outer, strides.inner});
    all.insert(all.end(), strides.axis, strides.axis + 3);
  }
  all.insert(all.end(), {weight.group, weight.out_channel, weight.in_channel});
  all.insert(all.end(), weight.axis, weight.axis + 3);
  return all;
}

std::vector<long long> numbers(const shared::Shape& s) {
  return numbers(
      s.batch,
      {s.axis[0].input, s.axis[1].input, s.axis[2].input, s.axis[0].output, s.axis[1].output, s.axis[2].output},
      {s.input, s.output, s.residual_strides}, s.weight);
}

std::vector<long long> numbers(const shared::Sizes& s) {
  return numbers(s.batch, {s.input[0], s.input[1], s.input[2], s.output[0], s.output[1], s.output[2]},
                 {s.input_strides, s.output_strides, s.residual_strides}, s.weight_strides);
}

/// The problem with each of its dynamic dimensions longer by 0 to 4.
std::vector<Problem> other_sizes(const Problem& problem) {
  std::vector<Problem> all{problem};
  const auto vary = [&](const std::function<std::int64_t&(Problem&)>& dimension) {
    const std::vector<Problem> before = std::move(all);
    all.clear();
    for (const Problem& one : before) {
      for (int more = 0; more <= 4; ++more) {
        all.push_back(one);
        dimension(all.back()) += more;
      }
    }
  };
  if (problem.dynamic_batch) vary([](Problem& p) -> std::int64_t& { return p.batch; });
  for (int axis = 0; axis < problem.rank; ++axis)
    if (problem.dynamic_input[axis]) vary([axis](Problem& p) -> std::int64_t& { return p.input[axis]; });
  return all;
}

bool is_inside(const Problem& problem, int axis) {
  return std::ranges::all_of(lower_axis(problem, axis), &TapAxis::inside);
}

TEST(KernelShape, LeavesToTheLaunchWhatDiffersBetweenSizes) {
  int dynamic = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const Problem whole = testing::any_random_problem(seed, 1e7);
    const std::vector<Problem> sizes = other_sizes(whole);
    if (sizes.size() == 1 && seed % 8 != 0) continue;
    ++dynamic;
    SCOPED_TRACE(spell(whole));
    for (std::size_t stage = 0; stage < tasks_of(whole).size(); ++stage) {
      const Task task = tasks_of(whole)[stage];
      const std::vector<long long> constants = numbers(shape_of(task));
      std::vector<std::set<long long>> values(constants.size());
      for (const Problem& one : sizes) {
        const auto at_launch = numbers(sizes_of(tasks_of(one)[stage].problem, false));
        for (std::size_t i = 0; i < values.size(); ++i) values[i].insert(at_launch[i]);
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        // What is constant is right at every size. Only extents may be left to the launch needlessly.
        if (constants[i] != 0) {
          EXPECT_EQ(std::set<long long>{constants[i]}, values[i]) << "number " << i;
        } else if (i == 0 || i >= 7) {
          EXPECT_GT(values[i].size(), 1u) << "number " << i;
        }
      }
      for (int axis = 0; axis < whole.rank; ++axis) {
        if (!shape_of(task).axis[max_rank - whole.rank + axis].inside) continue;
        for (const Problem& one : sizes) EXPECT_TRUE(is_inside(tasks_of(one)[stage].problem, axis)) << spell(one);
      }
    }
  }
  EXPECT_GT(dynamic, 500);
}

TEST(KernelShape, OfStridedTensorsHasNoStrides) {
  Task task = task_of("Conv2d(4, 8, 3) @ 2x4x9x9");
  task.strided = true;
  const shared::Shape shape = shape_of(task);
  for (const shared::Strides* strides : {&shape.input, &shape.output, &shape.residual_strides}) {
    EXPECT_EQ(0, strides->outer + strides->inner);
    EXPECT_TRUE(std::ranges::all_of(strides->axis, [](auto stride) { return stride == 0; }));
  }
  EXPECT_EQ(0, shape.weight.group + shape.weight.out_channel + shape.weight.in_channel);
  EXPECT_EQ(9, shape.axis[2].input);
}

TEST(Narrow, EndsExactlyBelowTwoToTheThirty) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  const auto narrow = [](std::int64_t batch, std::int64_t input, std::int64_t kernel, std::int64_t dilation,
                         std::int64_t padding, std::int64_t stride) {
    Problem problem;
    problem.rank = 1;
    problem.batch = batch;
    problem.input[0] = input;
    problem.kernel[0] = kernel;
    problem.dilation[0] = dilation;
    problem.padding_lo[0] = problem.padding_hi[0] = padding;
    problem.stride[0] = stride;
    validate(problem);
    return is_narrow(problem);
  };
  EXPECT_TRUE(narrow(1, limit - 1, 1, 1, 0, 1));
  EXPECT_FALSE(narrow(1, limit, 1, 1, 0, 1));
  EXPECT_FALSE(narrow(1, limit, 1, 1, 0, limit / 2));  // few outputs, but the input's own coordinates
  EXPECT_TRUE(narrow(limit / 2 - 1, 2, 1, 1, 0, 1));   // positions of all images
  EXPECT_FALSE(narrow(limit / 2, 2, 1, 1, 0, 1));
  EXPECT_TRUE(narrow(1, limit - 1, limit - 1, 1, 0, 1));  // taps
  EXPECT_FALSE(narrow(1, 3, limit, 1, limit / 2, 1));
  EXPECT_FALSE(narrow(1, 1, 1, 1, limit / 2, limit));      // the stride
  EXPECT_FALSE(narrow(1, 1, 2, 1, limit, limit - 1));      // the padding
  EXPECT_FALSE(narrow(1, limit - 1, 2, limit, limit, 1));  // an offset
}

TEST(DirectVectors, AreWhatAlignmentAllows) {
  const auto vectors = [](const char* text, int channels, bool strided = false) {
    Task task = task_of(text);
    task.strided = strided;
    return std::pair(direct_vector(task),
                     direct_vector_stored(task, {.threads = 64, .pixels = 1, .channels = channels}));
  };
  using Pair = std::pair<int, int>;
  EXPECT_EQ(Pair(4, 4), vectors("Conv2d(8, 16, 3, layout=channels_last) @ 2x8x9x9", 16));
  EXPECT_EQ(Pair(4, 4), vectors("Conv1d(8, 16, 3, layout=channels_last) @ 2x8x9", 4));
  EXPECT_EQ(Pair(4, 4), vectors("Conv3d(8, 16, 3, layout=channels_last) @ 2x8x9x9x9", 4));
  EXPECT_EQ(Pair(4, 4), vectors("Conv2d(8, 16, 3, layout=channels_last) @ 2?x8x9?x9?", 4));
  EXPECT_EQ(Pair(4, 1), vectors("Conv2d(8, 16, 3, layout=channels_last) @ 2x8x9x9", 2));  // of the tile's channels
  EXPECT_EQ(Pair(1, 4), vectors("Conv2d(6, 16, 3, layout=channels_last) @ 2x6x9x9", 16));
  EXPECT_EQ(Pair(1, 1), vectors("Conv2d(8, 16, 3, groups=8, layout=channels_last) @ 2x8x9x9", 2));
  EXPECT_EQ(Pair(2, 2), vectors("Conv2d(6, 6, 3, layout=channels_last, dtype=float64) @ 2x6x9x9", 2));
  EXPECT_EQ(Pair(1, 1), vectors("Conv2d(8, 16, 3) @ 2x8x9x9", 16));
  EXPECT_EQ(Pair(1, 1), vectors("Conv2d(8, 16, 3, layout=channels_last) @ 2x8x9x9", 16, true));
}

TEST(DirectTiles, AreLegalOfEveryTask) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    for (const Task& task : tasks_of(testing::any_random_problem(seed, 1e7))) {
      const std::vector<DirectTile> tiles = direct_tiles(task);
      ASSERT_FALSE(tiles.empty());
      const auto number = static_cast<int>(element_bytes(number_type(task)));
      const shared::Sizes sizes = sizes_of(task.problem, task.strided);
      for (const DirectTile& tile : tiles) {
        EXPECT_EQ(0, tile.threads % 32);
        EXPECT_LE(tile.channels * tile.pixels * number, 256);
        EXPECT_LE(tile.channels * direct_pairs * number, 48 * 1024);
        EXPECT_EQ(tile, parse_direct_tile(task, text(tile)));
        // Every output of the largest class and of every channel has its block.
        std::int64_t positions = sizes.batch, classes = 1;
        for (int axis = 0; axis < task.problem.rank; ++axis) {
          std::int64_t most = 0;
          for (const TapAxis& part : lower_axis(task.problem, axis)) most = std::max(most, part.grid);
          positions *= most;
          classes *= std::ssize(lower_axis(task.problem, axis));
        }
        const std::int64_t channels = task.problem.out_channels / task.problem.groups;
        EXPECT_GE(direct_blocks(task, tile, sizes) * tile.threads * tile.pixels * tile.channels,
                  positions * classes * channels * task.problem.groups);
      }
    }
  }
}

TEST(BlockGrid, HoldsAllBlocksWithinTheDevice) {
  const cuda::DeviceFacts device = testing::h200();
  using Grid = std::array<std::int64_t, 3>;
  EXPECT_EQ((Grid{1, 1, 1}), block_grid(1, device));
  EXPECT_EQ((Grid{2147483647, 1, 1}), block_grid(2147483647, device));
  EXPECT_EQ((Grid{1073741824, 2, 1}), block_grid(2147483648, device));
  EXPECT_EQ((Grid{2147483647, 65535, 1}), block_grid(std::int64_t{2147483647} * 65535, device));
  for (const std::int64_t blocks : {4294967295, 4294967296, 6442450943, 100000000000003}) {
    const Grid grid = block_grid(blocks, device);
    EXPECT_GE(grid[0] * grid[1], blocks);
    EXPECT_LT(grid[0] * grid[1] - blocks, grid[1]);  // the last row alone is not full
    EXPECT_LE(grid[0], device.max_grid[0]);
  }
}

TEST(UnreachedPlan, IsThereWhereSomeSizeLeavesGaps) {
  const DeviceModel device = device_model(testing::h200());
  const auto needed = [&](const char* text) { return unreached_plan(task_of(text), device).has_value(); };
  EXPECT_FALSE(needed("Conv2d(4, 4, 1, stride=3) @ 1x4x9x9"));
  EXPECT_FALSE(needed("ConvTranspose1d(4, 4, 3, stride=3) @ 1x4x9"));
  EXPECT_TRUE(needed("ConvTranspose1d(4, 4, 2, stride=3) @ 1x4x9"));
  EXPECT_TRUE(needed("ConvTranspose1d(4, 4, 9, stride=2, dilation=2) @ 1x4x9"));  // the taps meet even outputs alone
  EXPECT_TRUE(needed("ConvTranspose2d(4, 4, (3, 1), stride=(3, 2)) @ 1x4x9x9"));
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e7);
    const bool gaps = problem.kind == Kind::transposed && !reaches_all(problem);
    EXPECT_TRUE(!gaps || unreached_plan(task_of(problem), device).has_value()) << spell(problem);
  }
}

}  // namespace
}  // namespace tapconv
