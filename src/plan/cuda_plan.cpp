#include "plan/cuda_plan.hpp"

#include "problem/text.hpp"

namespace tapconv {
namespace {

CudaStep load_step(const cuda::Context& context, const Task& task, KernelPlan plan) {
  const cuda::Kernel* kernel = cuda::load(context, plan.source);
  const cuda::LaunchShape launch = plan.launch(sizes_of(task.problem));
  if (const std::string broken = cuda::launch_problem(launch, kernel->facts(), context.facts()); !broken.empty())
    throw Error(ErrorCode::launch, broken);
  return {.kernel = kernel, .plan = std::move(plan)};
}

std::string joined(const std::vector<CudaStage>& stages, auto&& text) {
  std::string all;
  for (const CudaStage& stage : stages) all += (all.empty() ? "" : ", ") + std::string(text(stage));
  return all;
}

}  // namespace

CudaPlan::CudaPlan(const Problem& problem, const cuda::Context& context, const Chooser& chooser) {
  const DeviceModel model = device_model(context.facts());
  for (const Task& task : tasks_of(problem)) {
    CudaStage stage{.task = task, .choice = chooser(task, model), .steps = {}};
    for (KernelPlan& kernel : kernels_of(task, stage.choice, model))
      stage.steps.push_back(load_step(context, task, std::move(kernel)));
    stages_.push_back(std::move(stage));
  }
}

std::size_t CudaPlan::workspace_bytes() const {
  if (stages_.size() < 2) return 0;
  const Problem& first = stages_.front().task.problem;
  return static_cast<std::size_t>(element_count(output_shape(first))) * element_bytes(first.out_dtype);
}

void CudaPlan::run(const DeviceTensors& tensors, void* workspace, void* stream) const {
  for (const CudaStage& stage : stages_) {
    const bool first = &stage == &stages_.front(), last = &stage == &stages_.back();
    const shared::Arguments arguments{.tensors = {.input = first ? tensors.input : workspace,
                                                  .weight = first ? tensors.weight : tensors.pointwise_weight,
                                                  .bias = first ? tensors.bias : tensors.pointwise_bias,
                                                  .residual = last ? tensors.residual : nullptr,
                                                  .output = last ? tensors.output : workspace},
                                      .sizes = sizes_of(stage.task.problem)};
    for (const CudaStep& step : stage.steps) step.kernel->launch(step.plan.launch(arguments.sizes), stream, arguments);
  }
}

std::string CudaPlan::solver() const {
  return joined(stages_, [](const CudaStage& stage) { return stage.choice.solver->name(); });
}

std::string CudaPlan::configuration() const {
  return joined(stages_, [](const CudaStage& stage) { return stage.choice.candidate.configuration; });
}

}  // namespace tapconv
