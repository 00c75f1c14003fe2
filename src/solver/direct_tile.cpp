#include "solver/direct_tile.hpp"

#include <algorithm>
#include <span>

#include "problem/text.hpp"

namespace tapconv {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Absent axes, the first ones, have no elements apart.
bool divides(std::int64_t vector, const shared::Strides& strides, int rank) {
  return strides.outer % vector == 0 &&
         std::ranges::all_of(std::span(strides.axis).last(static_cast<std::size_t>(rank)),
                             [&](auto stride) { return stride % vector == 0; });
}

/// Elements of 16 bytes at most; four of the 16-bit types, since every one needs a register.
int widest_vector(DType dtype) { return dtype == DType::float64 ? 2 : 4; }

/// Neighbouring channels that can be moved together: neighbours in memory, and every first one aligned.
int channel_vector(DType dtype, std::int64_t channels, const shared::Strides& strides, int rank) {
  const int vector = widest_vector(dtype);
  return strides.inner == 1 && channels % vector == 0 && divides(vector, strides, rank) ? vector : 1;
}

}  // namespace

int resident_blocks(const Task& task, const DirectTile& tile) {
  const Problem& problem = task.problem;
  const bool dynamic = std::ranges::any_of(problem.dynamic_input, [](bool one) { return one; });
  const bool many_registers = task.wide || task.strided || dynamic || number_type(task) == DType::float64 ||
                              problem.padding_mode != PaddingMode::zeros || problem.kind == Kind::transposed ||
                              direct_vector(task) > 1;
  return (many_registers ? 2 : 3) * 128 / tile.threads;
}

std::vector<DirectTile> direct_tiles(const Task& task) {
  const int most = number_type(task) == DType::float64 ? 32 : 64;
  const std::int64_t channels_of_group = task.problem.out_channels / task.problem.groups;
  const int vector = direct_vector(task);
  std::vector<DirectTile> tiles;
  for (const int channels : {32, 16, 8, 4, 2, 1}) {
    // One tile that overhangs is enough.
    if (channels > 1 && channels / 2 >= channels_of_group) continue;
    for (const int pixels : {8, 4, 2, 1}) {
      if (channels * pixels > most || (channels == 32 && most == 32)) continue;
      // Pointers of eight pixels leave no registers for more, nor for the classes of a transposed problem.
      if (pixels == 8 && (channels > 1 || task.problem.kind == Kind::transposed)) continue;
      if (pixels > 2 && vector > 1) continue;  // each input is several
      tiles.push_back({.threads = 128, .pixels = pixels, .channels = channels});
    }
  }
  return tiles;
}

std::string text(const DirectTile& tile) {
  return fmt::format("threads={} pixels={} channels={}", tile.threads, tile.pixels, tile.channels);
}

DirectTile parse_direct_tile(const Task& task, std::string_view configuration) {
  std::string valid;
  for (const DirectTile& tile : direct_tiles(task)) {
    if (text(tile) == configuration) return tile;
    valid += (valid.empty() ? "\"" : "\", \"") + text(tile);
  }
  fail(ErrorCode::usage, "configuration of direct = \"{}\"; valid: {}\"", configuration, valid);
}

std::int64_t direct_blocks(const Task& task, const DirectTile& tile, const shared::Sizes& sizes) {
  const Problem& problem = task.problem;
  std::int64_t positions = sizes.batch, classes = 1;
  for (int i = 0; i < problem.rank; ++i) {
    const int axis = max_rank - problem.rank + i;
    if (problem.kind == Kind::transposed) {
      positions *= divide_up(sizes.output[axis], problem.stride[i]);
      classes *= shared::tap_classes(shared_axis(problem, i), true);
    } else {
      positions *= sizes.output[axis];
    }
  }
  return divide_up(positions, std::int64_t{tile.threads} * tile.pixels) * classes * problem.groups *
         divide_up(problem.out_channels / problem.groups, tile.channels);
}

int direct_vector(const Task& task) {
  const shared::Shape shape = shape_of(task);
  return channel_vector(task.input_dtype, shape.in_channels, shape.input, task.problem.rank);
}

int direct_vector_stored(const Task& task, const DirectTile& tile) {
  const shared::Shape shape = shape_of(task);
  const int vector = channel_vector(task.problem.out_dtype, shape.out_channels, shape.output, task.problem.rank);
  return tile.channels % vector == 0 ? vector : 1;
}

}  // namespace tapconv
