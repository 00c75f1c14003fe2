#pragma once

#include <string>
#include <vector>

#include "solver/solver.hpp"
#include "tapconv/engine.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// What every solver says of a problem, the most specialised first.
[[nodiscard]] std::vector<Verdict> solver_verdicts(const Problem& problem, const cuda::DeviceFacts& device);

/// Throws Error{usage} with every solver's reason if none takes the problem.
void expect_solver(const Problem& problem, const cuda::DeviceFacts& device);

/// One tap convolution's kernel, loaded.
struct CudaStep {
  const cuda::Kernel* kernel;
  cuda::LaunchShape launch;
};

/// A problem planned for a CUDA device: every solver's verdict, and the chosen one's kernels, loaded.
class CudaPlan {
 public:
  /// Throws Error{usage} if no solver takes the problem, Error{compile, environment, launch}.
  CudaPlan(const Problem& problem, const cuda::Context& context);

  /// Starts the convolution of `tensors` on `stream`, without waiting and without allocating. Throws Error{launch}.
  void run(const shared::Tensors& tensors, void* stream) const;

  [[nodiscard]] const std::vector<Verdict>& verdicts() const { return verdicts_; }
  [[nodiscard]] const std::string& solver() const { return solver_; }
  [[nodiscard]] const std::string& configuration() const { return configuration_; }
  [[nodiscard]] const std::vector<CudaStep>& steps() const { return steps_; }

 private:
  std::vector<Verdict> verdicts_;
  std::string solver_, configuration_;
  std::vector<CudaStep> steps_;
};

}  // namespace tapconv
