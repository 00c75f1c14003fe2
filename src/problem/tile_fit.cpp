#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "problem/lowering.hpp"
#include "problem/text.hpp"
#include "tapconv/calculators.hpp"

namespace tapconv {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

void expect_valid(const Tile& tile, std::int64_t resident_blocks) {
  const auto expect = [](const char* field, std::int64_t value) {
    if (value < 1) fail(ErrorCode::usage, "{} = {}; valid: at least 1", field, value);
  };
  expect("channels", tile.channels);
  expect("pixels", tile.pixels.value_or(1));
  expect("images", tile.images);
  for (const std::int64_t positions : tile.positions) expect("positions", positions);
  expect("resident_blocks", resident_blocks);
}

/// Tap convolutions with equal grids and numbers of taps.
struct Classes {
  Extent grid{1, 1, 1};
  double taps = 1;
  std::int64_t count = 1;
};

/// All of a problem, without listing each: an axis has few different ones.
std::vector<Classes> tap_classes(const Problem& problem) {
  std::vector<Classes> all{{}};
  for (int i = 0; i < problem.rank; ++i) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
    for (const TapAxis& axis : lower_axis(problem, i)) ++counts[{axis.grid, axis.taps}];
    std::vector<Classes> product;
    for (const Classes& before : all) {
      for (const auto& [key, count] : counts) {
        Classes next = before;
        next.grid[i] = key.first;
        next.taps *= static_cast<double>(key.second);
        next.count *= count;
        product.push_back(next);
      }
    }
    all = std::move(product);
  }
  return all;
}

/// Tiles over the images and the grid of one tap convolution.
std::int64_t position_tiles(const Problem& problem, const Classes& classes, const Tile& tile) {
  std::int64_t tiles = tile.pixels ? problem.batch : divide_up(problem.batch, tile.images);
  for (std::size_t i = 0; i < classes.grid.size(); ++i)
    tiles *= tile.pixels ? classes.grid[i] : divide_up(classes.grid[i], tile.positions[i]);
  return tile.pixels ? divide_up(tiles, *tile.pixels) : tiles;
}

double tile_positions(const Tile& tile) {
  if (tile.pixels) return static_cast<double>(*tile.pixels);
  auto positions = static_cast<double>(tile.images);
  for (const std::int64_t along : tile.positions) positions *= static_cast<double>(along);
  return positions;
}

TileFit fit(const Problem& problem, const Tile& tile, std::int64_t resident_blocks) {
  TileFit result{.problem = problem};
  const std::int64_t channels = problem.out_channels / problem.groups;
  const std::int64_t channel_tiles = problem.groups * divide_up(channels, tile.channels);
  double needed = 0, computed = 0;  // in products of one input channel
  for (const Classes& classes : tap_classes(problem)) {
    const std::int64_t blocks = channel_tiles * position_tiles(problem, classes, tile) * classes.count;
    result.blocks += blocks;
    auto outputs = static_cast<double>(problem.batch) * static_cast<double>(problem.out_channels) *
                   static_cast<double>(classes.count);
    for (const std::int64_t positions : classes.grid) outputs *= static_cast<double>(positions);
    needed += classes.taps * outputs;
    computed += classes.taps * static_cast<double>(blocks) * static_cast<double>(tile.channels) * tile_positions(tile);
  }
  result.waves = static_cast<double>(result.blocks) / static_cast<double>(resident_blocks);
  if (result.blocks > 0) {
    result.tail_efficiency = result.waves / std::ceil(result.waves);
    result.edge_waste = 1 - needed / computed;
  }
  return result;
}

}  // namespace

std::vector<TileFit> tile_fit(const Problem& problem, const Tile& tile, std::int64_t resident_blocks) {
  validate(problem);
  expect_valid(tile, resident_blocks);
  std::vector<TileFit> fits;
  for (const Problem& stage : stages(problem)) fits.push_back(fit(stage, tile, resident_blocks));
  return fits;
}

}  // namespace tapconv
