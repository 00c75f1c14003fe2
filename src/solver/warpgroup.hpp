#pragma once

#include "solver/solver.hpp"

namespace tapconv {

/// Implicit GEMM on the tensor cores of compute capability 9.0, both operands from shared memory: float32 convolutions
/// under `tf32`, and under `fp32` by three products of TF32 parts (kernels/tapconv/warpgroup.cuh).
class WarpgroupSolver final : public Solver {
 public:
  [[nodiscard]] std::string_view name() const override { return "warpgroup"; }
  [[nodiscard]] Support supports(const Task& task, const DeviceModel& device) const override;
  [[nodiscard]] std::vector<Candidate> candidates(const Task& task, const DeviceModel& device) const override;
  [[nodiscard]] KernelPlan plan(const Task& task, std::string_view configuration,
                                const DeviceModel& device) const override;
};

/// The translation unit's wrapper of the instruction of this width, for kernels/tapconv/ptx.cuh.
[[nodiscard]] std::string wgmma_text(int columns);

}  // namespace tapconv
