#include "plan/cuda_plan.hpp"

#include "problem/text.hpp"

namespace tapconv {

CudaPlan::CudaPlan(const Problem& problem, const cuda::Context& context) {
  const std::vector<TapConvolution> convolutions = lower(problem);
  const Solver* chosen = nullptr;
  for (const Solver* solver : solvers()) {
    Support support;
    for (const TapConvolution& conv : convolutions) {
      support = solver->supports(conv, problem, context.facts());
      if (!support.ok) break;
    }
    verdicts_.push_back({.solver = std::string(solver->name()), .supported = support.ok, .reason = support.reason});
    if (support.ok && !chosen) chosen = solver;
  }
  if (!chosen) fail(ErrorCode::internal, "no solver takes {}", spell(problem));
  solver_ = chosen->name();
  for (const TapConvolution& conv : convolutions) {
    const KernelPlan plan = chosen->plan(conv, problem, context.facts());
    const cuda::Kernel& kernel = *cuda::load(context, plan.source);
    if (const std::string broken = cuda::launch_problem(plan.launch, kernel.facts(), context.facts()); !broken.empty())
      throw Error(ErrorCode::launch, broken);
    configuration_ += (configuration_.empty() ? "" : "; ") + plan.configuration;
    steps_.push_back({.kernel = &kernel, .launch = plan.launch});
  }
}

void CudaPlan::run(const shared::Tensors& tensors, void* stream) const {
  for (const CudaStep& step : steps_) step.kernel->launch(step.launch, stream, tensors);
}

}  // namespace tapconv
