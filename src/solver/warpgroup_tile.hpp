#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/solver.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// The forward convolution's shape (kernels/tapconv/shared/forward.cuh), and its sizes where the task's are `sizes`.
[[nodiscard]] shared::Shape warpgroup_shape(const Task& task);
[[nodiscard]] shared::Sizes warpgroup_sizes(const Task& task, shared::Sizes sizes);

/// Every tile worth a measurement, legal for the task on the device. Tiles of one task add products in one order.
[[nodiscard]] std::vector<shared::WarpgroupTile> warpgroup_tiles(const Task& task, const DeviceModel& device);

/// Whether there are any: does not depend on the problem's sizes.
[[nodiscard]] bool has_warpgroup_tile(const Task& task, const DeviceModel& device);

/// "columns=128 blocks=1 segments=2 split=channels tile=1x1x2x128 groups=columns pairs=7 stages=2,5", "rows=pixels ...
/// splits=4 cluster=1"
[[nodiscard]] std::string text(const shared::WarpgroupTile& tile);

/// The tile of such a text; none if it is malformed or not legal for the task, at whatever sizes.
[[nodiscard]] std::optional<shared::WarpgroupTile> parse_warpgroup_tile(const Task& task, std::string_view text,
                                                                        const DeviceModel& device);

/// Blocks of work at certain sizes.
[[nodiscard]] std::int64_t warpgroup_tile_count(const Task& task, const shared::WarpgroupTile& tile,
                                                const shared::Sizes& sizes);

/// The kernel of a tile.
[[nodiscard]] KernelPlan warpgroup_plan(const Task& task, const shared::WarpgroupTile& tile, const DeviceModel& device);

}  // namespace tapconv
