#pragma once

#include "solver/warpgroup_tile.hpp"

namespace tapconv {

/// What things cost the `warpgroup` kernel on a multiprocessor, in clocks and bytes unless a name says otherwise.
/// Fitted to trials by bench/fit_warpgroup, see docs/kernels.md.
struct WarpgroupCosts {
  double shared_byte_per_clock = 110.5;
  double item_clocks = 159;  ///< by which a loader's 8 channels of a pixel delay the computing warps
  double copy_clocks = 13;   ///< of a loader's copy of a channel, which its warp's lanes make together
  double l2_byte_per_clock = 59;
  double fragment_clocks = 70;  ///< of a segment's pixels that computing threads read and round for an instruction
  double first_clocks = 600;    ///< of a tile's first pixels
  double round_clocks = 1010;   ///< of a loader's items that are in flight together
  double fetch_clocks = 635;    ///< of a stage of weights whose ring has one
  double late_clocks = 760;     ///< of a tile whose ring of inputs has two stages: loads are slow during stores
  double run_clocks = 2;        ///< of a warp's 32 outputs, in runs along W
  double group_clocks = 12.5;   ///< in groups of 8
  double row_clocks = 9;        ///< more, where pixels are rows of the instruction
  double channel_clocks = 428;  ///< in channels
  double part_clocks = 985;     ///< of a part that is added to the ones before
  double exchange_byte_per_clock = 8;
  double fill_clocks = 2400;       ///< of a block's first stages
  double sustained_clock = 0.949;  ///< of the highest
  double memory_share = 0.974;     ///< of the bytes that a second's copying moves
  double launch_ms = 0.0049;
  double kept_byte = 3e7;    ///< of outputs that the L2 keeps: beyond it they are written while the kernel runs
  double hidden = 0.436;     ///< of the shorter one of computing and memory, where outputs are beyond that
  double run_ms = 0.366e-7;  ///< of a run of such outputs that begins or ends within 32 bytes
  double packing_ms = 0.004, packing_byte_per_ms = 4e8;
};

/// What the cost model makes of a tile.
[[nodiscard]] Candidate warpgroup_estimate(const Task& task, const shared::WarpgroupTile& tile,
                                           const DeviceModel& device, const WarpgroupCosts& costs = {});

}  // namespace tapconv
