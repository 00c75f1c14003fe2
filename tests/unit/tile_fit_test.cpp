#include <gtest/gtest.h>

#include <limits>

#include "problem/lowering.hpp"
#include "random_problem.hpp"
#include "solver/device_model.hpp"
#include "tapconv/calculators.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

struct Counted {
  std::int64_t blocks = 0;
  std::int64_t needed = 0, computed = 0;
};

/// Block by block over the axes of one tap convolution, from `axis` on.
void count(const TapConvolution& part, const Tile& tile, int rank, int axis, std::int64_t inside, std::int64_t whole,
           Counted& counted) {
  if (axis == rank) {
    for (std::int64_t image = 0; image < part.batch; image += tile.images) {
      for (std::int64_t channel = 0; channel < part.out_channels; channel += tile.channels) {
        const std::int64_t images = std::min(tile.images, part.batch - image);
        const std::int64_t channels = std::min(tile.channels, part.out_channels - channel);
        counted.blocks += part.groups;
        counted.needed += part.groups * part.tap_count() * images * channels * inside;
        counted.computed += part.groups * part.tap_count() * tile.images * tile.channels * whole;
      }
    }
    return;
  }
  const std::int64_t grid = part.axis[static_cast<std::size_t>(3 - rank + axis)].grid, along = tile.positions[axis];
  for (std::int64_t position = 0; position < grid; position += along)
    count(part, tile, rank, axis + 1, inside * std::min(along, grid - position), whole * along, counted);
}

void expect_fit(const Counted& counted, const TileFit& fit, std::int64_t resident) {
  EXPECT_EQ(counted.blocks, fit.blocks);
  EXPECT_DOUBLE_EQ(static_cast<double>(counted.blocks) / static_cast<double>(resident), fit.waves);
  if (counted.blocks == 0) return;
  EXPECT_NEAR(1 - static_cast<double>(counted.needed) / static_cast<double>(counted.computed), fit.edge_waste, 1e-12);
  const std::int64_t rounds = (counted.blocks + resident - 1) / resident;
  EXPECT_DOUBLE_EQ(static_cast<double>(counted.blocks) / static_cast<double>(rounds * resident), fit.tail_efficiency);
}

TEST(TileFit, BoxesAreAsCountedOneByOne) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 generator(seed);
    const auto small = [&] { return static_cast<std::int64_t>(1 + generator() % 7); };
    const Problem problem = testing::any_random_problem(seed, 1e6);
    SCOPED_TRACE(spell(problem));
    Tile tile{.channels = small(), .images = small()};
    for (int axis = 0; axis < problem.rank; ++axis) tile.positions[axis] = small();
    const std::int64_t resident = small();
    const std::vector<TileFit> fits = tile_fit(problem, tile, resident);
    const std::vector<Problem> parts = stages(problem);
    ASSERT_EQ(parts.size(), fits.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Counted counted;
      for (const TapConvolution& part : lower(parts[i])) count(part, tile, problem.rank, 0, 1, 1, counted);
      expect_fit(counted, fits[i], resident);
      EXPECT_EQ(parts[i], fits[i].problem);
    }
  }
}

TEST(TileFit, RowsOfPixelsRunOnOverAxesAndImages) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 generator(seed);
    const Problem problem = testing::any_random_problem(seed, 1e6);
    SCOPED_TRACE(spell(problem));
    const Tile tile{.channels = static_cast<std::int64_t>(1 + generator() % 9),
                    .pixels = static_cast<std::int64_t>(1 + generator() % 100)};
    const std::vector<Problem> parts = stages(problem);
    const std::vector<TileFit> fits = tile_fit(problem, tile, 5);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Counted counted;
      for (const TapConvolution& part : lower(parts[i])) {
        const std::int64_t pixels = part.batch * part.grid_size();
        const std::int64_t blocks = part.groups * ((part.out_channels + tile.channels - 1) / tile.channels) *
                                    ((pixels + *tile.pixels - 1) / *tile.pixels);
        counted.blocks += blocks;
        counted.needed += part.tap_count() * part.groups * part.out_channels * pixels;
        counted.computed += part.tap_count() * blocks * tile.channels * *tile.pixels;
      }
      expect_fit(counted, fits[i], 5);
    }
  }
}

TEST(TileFit, IsThatOfAPlan) {
  // One residue class, so that the direct solver's tiles are tiles of all positions.
  const Problem problem = parse_problem("kb56(math=ieee)");
  const PlanReport report = plan(problem, parse_device("h200"));
  ASSERT_EQ("threads=128 pixels=4 channels=16", report.configuration);
  const TileFit fit = tile_fit(problem, {.channels = 16, .pixels = 128 * 4}, 132).front();
  EXPECT_EQ(report.stages[0].kernels[0].blocks, fit.blocks);
  EXPECT_NEAR(report.stages[0].edge_waste, fit.edge_waste, 1e-12);
}

TEST(TileFit, ByHand) {
  // 31 x 31 outputs in 4 x 4 tiles of 8 x 8; 100 channels in 2 of 64.
  const TileFit fit = tile_fit(parse_problem("Conv2d(3, 100, 2) @ 2x3x32x32"),
                               {.channels = 64, .images = 1, .positions = {8, 8, 1}}, 10)
                          .front();
  EXPECT_EQ(64, fit.blocks);
  EXPECT_DOUBLE_EQ(6.4, fit.waves);
  EXPECT_DOUBLE_EQ(6.4 / 7, fit.tail_efficiency);
  EXPECT_NEAR(1 - 31.0 * 31 * 100 / (32 * 32 * 128), fit.edge_waste, 1e-12);
}

TEST(TileFit, HugeTilesOverflowNothing) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const Problem problem = parse_problem("ConvTranspose2d(3, 8, 3, stride=2) @ 2x3x5x5");
  for (const Tile& tile : {Tile{.channels = huge, .pixels = huge},
                           Tile{.channels = huge, .images = huge, .positions = {huge, huge, huge}}}) {
    const TileFit fit = tile_fit(problem, tile, huge).front();
    EXPECT_EQ(4, fit.blocks);
    EXPECT_DOUBLE_EQ(1, fit.edge_waste);
  }
}

TEST(TileFit, RefusesSizesBelow1) {
  const Problem problem = parse_problem("Conv2d(3, 8, 3) @ 2x3x9x9");
  const auto refused = [&](const Tile& tile, std::int64_t resident, const char* message) {
    expect_error(ErrorCode::usage, message, [&] { (void)tile_fit(problem, tile, resident); });
  };
  refused({.channels = 0}, 1, "channels = 0; valid: at least 1");
  refused({.channels = 1, .pixels = 0}, 1, "pixels = 0;");
  refused({.channels = 1, .images = -1}, 1, "images = -1;");
  refused({.channels = 1, .images = 1, .positions = {1, 0, 1}}, 1, "positions = 0;");
  refused({}, 0, "resident_blocks = 0;");
}

}  // namespace
}  // namespace tapconv
