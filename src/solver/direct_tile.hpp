#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "solver/device_model.hpp"
#include "solver/solver.hpp"

namespace tapconv {

/// How a direct kernel cuts its problem up: mirrors DirectTile of kernels/tapconv/direct.cuh.
struct DirectTile {
  int threads = 128;  ///< a block
  int pixels = 4;     ///< grid positions a thread
  int channels = 16;  ///< output channels a block

  friend bool operator==(const DirectTile&, const DirectTile&) = default;
};

/// Blocks that a multiprocessor has registers for: three of 128 threads leave a thread 168.
[[nodiscard]] int resident_blocks(const Task& task, const DirectTile& tile);

/// (channel, tap) pairs of weights held in shared memory.
inline constexpr int direct_pairs = 256;

/// Tiles worth considering.
[[nodiscard]] std::vector<DirectTile> direct_tiles(const Task& task);

/// "threads=128 pixels=4 channels=16", and back. Throws Error{usage} for a text that is none of direct_tiles().
[[nodiscard]] std::string text(const DirectTile& tile);
[[nodiscard]] DirectTile parse_direct_tile(const Task& task, std::string_view text);

/// Blocks of a launch.
[[nodiscard]] std::int64_t direct_blocks(const Task& task, const DirectTile& tile, const shared::Sizes& sizes);

/// Input channels read, and output channels written, by one access.
[[nodiscard]] int direct_vector(const Task& task);
[[nodiscard]] int direct_vector_stored(const Task& task, const DirectTile& tile);

/// What the cost model makes of a tile. docs/kernels.md says where its numbers come from.
[[nodiscard]] Candidate direct_estimate(const Task& task, const DirectTile& tile, const DeviceModel& device);

}  // namespace tapconv
