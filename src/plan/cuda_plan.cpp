#include "plan/cuda_plan.hpp"

#include <algorithm>

#include "problem/text.hpp"

namespace tapconv {

std::vector<Verdict> solver_verdicts(const Problem& problem, const cuda::DeviceFacts& device) {
  std::vector<Verdict> verdicts;
  for (const Solver* solver : solvers()) {
    const Support support = solver->supports(problem, device);
    verdicts.push_back({.solver = std::string(solver->name()), .supported = support.ok, .reason = support.reason});
  }
  return verdicts;
}

void expect_solver(const Problem& problem, const cuda::DeviceFacts& device) {
  std::string reasons;
  for (const Verdict& verdict : solver_verdicts(problem, device)) {
    if (verdict.supported) return;
    reasons += fmt::format("; {}: {}", verdict.solver, verdict.reason);
  }
  fail(ErrorCode::usage, "no solver for CUDA devices takes {}{}; valid: device = cpu", spell(problem), reasons);
}

CudaPlan::CudaPlan(const Problem& problem, const cuda::Context& context)
    : verdicts_(solver_verdicts(problem, context.facts())) {
  expect_solver(problem, context.facts());
  const auto taken = std::ranges::find(verdicts_, true, &Verdict::supported);
  const Solver* const chosen = solvers()[static_cast<std::size_t>(taken - verdicts_.begin())];
  solver_ = chosen->name();
  const std::vector<TapConvolution> convolutions = lower(problem);
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
