#include "cuda/compile_log.hpp"
#include "cuda/compiler.hpp"
#include "cuda/inlined.hpp"
#include "engine/cpu_engine.hpp"
#include "engine/device.hpp"
#include "plan/cuda_variants.hpp"
#include "problem/ceilings.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// A CUDA device or a model of one.
struct Target {
  DeviceModel model;
  const cuda::Context* context;  ///< null for a model
};

Target target_of(const Device& device) {
  return {.model = planning_model(device, "a plan with kernels"),
          .context = device.kind == Device::Kind::cuda ? &cuda::Context::get(device.index) : nullptr};
}

/// The driver's facts where there is a device, else the compiler's.
cuda::KernelFacts compiled_facts(const Target& target, const cuda::KernelSource& source) {
  if (target.context) return cuda::load(*target.context, source)->facts();
  const cuda::DeviceFacts& device = target.model.facts;
  return cuda::facts_of_log(cuda::compiled(source, cuda::architecture(device)).log, device.max_threads_per_block,
                            device.registers_per_block);
}

/// One kernel; why it was not compiled goes to `not_compiled`.
PlannedKernel describe_kernel(const Target& target, const KernelPlan& plan, const shared::Sizes& sizes,
                              std::string& not_compiled) {
  const cuda::LaunchShape launch = plan.launch(sizes);
  PlannedKernel kernel{.entry = plan.source.entry,
                       .blocks = launch.grid[0] * launch.grid[1] * launch.grid[2],
                       .threads = launch.block[0] * launch.block[1] * launch.block[2],
                       .dynamic_shared_bytes = launch.dynamic_shared_bytes};
  if (!not_compiled.empty()) return kernel;
  try {
    const cuda::KernelFacts facts = compiled_facts(target, plan.source);
    if (const std::string broken = cuda::launch_problem(launch, facts, target.model.facts); !broken.empty())
      throw Error(ErrorCode::launch, broken);
    kernel.resources = {.registers = facts.registers,
                        .local_bytes = facts.local_bytes,
                        .static_shared_bytes = facts.static_shared_bytes};
  } catch (const Error& error) {
    // Planning for a model needs no compiler.
    if (target.context || error.code() != ErrorCode::environment) throw;
    not_compiled = error.what();
  }
  return kernel;
}

PlannedStage describe_stage(const Target& target, const Task& task, std::string& not_compiled) {
  Choice choice = choose_by_default(task, target.model);
  const std::vector<KernelPlan> kernels = kernels_of(task, choice, target.model);
  Task packed = task;
  packed.packed = true;
  const auto packing = choice.solver->plan(packed, choice.candidate.configuration, target.model).packing;
  PlannedStage stage{.problem = task.problem,
                     .verdicts = std::move(choice.verdicts),
                     .solver = std::string(choice.solver->name()),
                     .configuration = choice.candidate.configuration,
                     .tuned = choice.tuned,
                     .floor = floor_time(task.problem, target.model.ceilings),
                     .predicted_ms = choice.candidate.predicted_ms,
                     .waves = choice.candidate.waves,
                     .edge_waste = choice.candidate.edge_waste,
                     .k_order = kernels.front().k_order,
                     .packed_bytes = packing ? packing->bytes : 0};
  const shared::Sizes sizes = sizes_of(task.problem, task.strided);
  for (const KernelPlan& kernel : kernels)
    stage.kernels.push_back(describe_kernel(target, kernel, sizes, not_compiled));
  return stage;
}

void describe_cuda(PlanReport& report) {
  const Target target = target_of(report.device);
  report.device_name = target.model.facts.name;
  report.architecture = cuda::architecture(target.model.facts);
  report.floors = {floor_time(report.problem, target.model.ceilings)};
  const std::vector<Task> tasks = tasks_of(report.problem);
  report.workspace_bytes = plan_variants(report.problem, {}, target.model).packed_bytes +
                           static_cast<std::size_t>(report.problem.batch) * image_workspace_bytes(report.problem);
  for (const Task& task : tasks) {
    report.stages.push_back(describe_stage(target, task, report.not_compiled));
    const PlannedStage& stage = report.stages.back();
    report.solver += (report.solver.empty() ? "" : ", ") + stage.solver;
    report.configuration += (report.configuration.empty() ? "" : ", ") + stage.configuration;
  }
}

}  // namespace

PlanReport plan(const Problem& problem, const Device& device) {
  validate(problem);
  PlanReport report{.problem = problem,
                    .device = device,
                    .device_name = {},
                    .input_shape = input_shape(problem),
                    .weight_shape = weight_shape(problem),
                    .output_shape = output_shape(problem),
                    .work = work(problem),
                    .floors = {},
                    .solver = {},
                    .configuration = {},
                    .stages = {},
                    .architecture = {},
                    .not_compiled = {}};
  if (device.kind != Device::Kind::cpu) {
    describe_cuda(report);
    return report;
  }
  describe_cpu(report);
  for (const Ceilings& ceilings : known_ceilings()) {
    if (!ceilings.reach_derived) report.floors.push_back(floor_time(problem, ceilings));
  }
  return report;
}

std::vector<PlannedSource> plan_sources(const Problem& problem, const Device& device, bool inlined) {
  validate(problem);
  if (device.kind == Device::Kind::cpu)
    fail(ErrorCode::usage, "device = cpu; its plans have no source; valid: cuda, cuda:N, or a model like h200");
  const DeviceModel model = target_of(device).model;
  std::vector<PlannedSource> sources;
  for (const Task& task : tasks_of(problem)) {
    for (const KernelPlan& kernel : kernels_of(task, choose_by_default(task, model), model))
      sources.push_back({.stage = spell(task.problem),
                         .entry = kernel.source.entry,
                         .text = inlined ? cuda::inlined(kernel.source.text) : kernel.source.text});
  }
  return sources;
}

}  // namespace tapconv
