#pragma once

#include "solver/solver.hpp"

namespace tapconv {

/// Loops of fused multiply-adds of kernels/tapconv/direct.cuh: takes everything, without a workspace.
class DirectSolver final : public Solver {
 public:
  [[nodiscard]] std::string_view name() const override { return "direct"; }
  [[nodiscard]] Support supports(const Task&, const DeviceModel&) const override { return {}; }
  [[nodiscard]] std::vector<Candidate> candidates(const Task& task, const DeviceModel& device) const override;
  [[nodiscard]] KernelPlan plan(const Task& task, std::string_view configuration,
                                const DeviceModel& device) const override;
};

}  // namespace tapconv
