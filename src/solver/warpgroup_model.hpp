#pragma once

#include "solver/warpgroup_tile.hpp"

namespace tapconv {

/// What things cost the `warpgroup` kernel on a multiprocessor, in clocks and bytes unless a name says otherwise.
/// Fitted to trials by bench/fit_warpgroup, see docs/kernels.md.
struct WarpgroupCosts {
  double shared_byte_per_clock = 104.4;
  double item_clocks = 172;  ///< by which a loader's 8 channels of a pixel delay the computing warps
  double copy_clocks = 22;   ///< of a loader's copy of a channel, which its warp's lanes make together
  double l2_byte_per_clock = 70;
  double fragment_clocks = 42;  ///< of a segment's pixels that computing threads read and round for an instruction
  double first_clocks = 65;     ///< of a tile's first pixels
  double round_clocks = 764;    ///< of a loader's items that are in flight together
  double fetch_clocks = 208;    ///< of a stage of weights whose ring has one
  double late_clocks = 1030;    ///< of a tile whose ring of inputs has two stages: loads are slow during stores
  double run_clocks = 6.8;      ///< of a warp's 32 outputs, in runs along W
  double group_clocks = 34;     ///< in groups of 8
  double row_clocks = 1.8;      ///< more, where pixels are rows of the instruction
  double channel_clocks = 316;  ///< in channels
  double part_clocks = 215;     ///< of a part that is added to the ones before
  double exchange_byte_per_clock = 10.3;
  double fill_clocks = 2660;       ///< of a block's first stages
  double sustained_clock = 0.961;  ///< of the highest
  double memory_share = 0.999;     ///< of the bytes that a second's copying moves
  double launch_ms = 0.005;
  double kept_byte = 3e7;  ///< of outputs that the L2 keeps: beyond it they are written while the kernel runs
  double hidden = 0.404;   ///< of the shorter one of computing and memory, where outputs are beyond that
  double run_ms = 7e-8;    ///< of a run of such outputs that begins or ends within 32 bytes
  double packing_ms = 0.004, packing_byte_per_ms = 4e8;
};

/// What the cost model makes of a tile.
[[nodiscard]] Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile,
                                           const DeviceModel& device, const WarpgroupCosts& costs = {});

}  // namespace tapconv
