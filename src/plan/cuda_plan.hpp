#pragma once

#include <string>
#include <vector>

#include "plan/planner.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

/// The tensors of one call in device memory, dense in the problem's types and layout. Those that the problem does not
/// have are null.
struct DeviceTensors {
  const void *input = nullptr, *weight = nullptr, *bias = nullptr;
  const void *pointwise_weight = nullptr, *pointwise_bias = nullptr;
  const void* residual = nullptr;
  void* output = nullptr;
};

/// One launch of a stage: the solver's kernel, or that of the outputs that no tap reaches.
struct CudaStep {
  const cuda::Kernel* kernel = nullptr;
  KernelPlan plan;
};

/// One plain problem of a plan.
struct CudaStage {
  Task task;
  Choice choice;
  std::vector<CudaStep> steps;
};

/// A problem planned for a CUDA device, its kernels loaded. Never changes: any number of threads may run it at a time,
/// each on tensors and a workspace of its own.
class CudaPlan {
 public:
  /// Throws Error{usage} if no solver takes the problem, Error{compile, environment, launch}.
  CudaPlan(const Problem& problem, const cuda::Context& context, const Chooser& chooser = choose_by_default);

  /// Bytes of device memory that run() works in, aligned to 256; 0 but for depthwise separable problems.
  [[nodiscard]] std::size_t workspace_bytes() const;

  /// Starts the convolution on `stream` (a CUstream), without waiting and without allocating. Throws Error{launch}.
  void run(const DeviceTensors& tensors, void* workspace, void* stream) const;

  [[nodiscard]] const std::vector<CudaStage>& stages() const { return stages_; }
  [[nodiscard]] std::string solver() const;         ///< the stages' solvers: "direct", or "direct, direct"
  [[nodiscard]] std::string configuration() const;  ///< of each stage, for people

 private:
  std::vector<CudaStage> stages_;
};

}  // namespace tapconv
