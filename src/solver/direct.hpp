#pragma once

#include "solver/solver.hpp"

namespace tapconv {

/// FFMA loops of kernels/tapconv/direct.cuh: takes contiguous float32 convolutions with zero
/// padding and without an epilogue but the bias, under every contract, without a workspace.
class DirectSolver final : public Solver {
 public:
  [[nodiscard]] std::string_view name() const override { return "direct"; }
  [[nodiscard]] Support supports(const Problem& problem, const cuda::DeviceFacts& device) const override;
  [[nodiscard]] KernelPlan plan(const TapConvolution& conv, const Problem& problem,
                                const cuda::DeviceFacts& device) const override;
};

}  // namespace tapconv
