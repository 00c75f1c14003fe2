#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/compiler.hpp"
#include "plan/cuda_plan.hpp"
#include "plan/planner.hpp"

namespace tapconv::testing {

/// A way to compute a problem that the planner might not choose.
struct PlanOptions {
  std::string configuration{};  ///< of stages that have it; empty, and of others: the solver's own first choice
  bool wide = false;            ///< with 64-bit coordinates, whether they are needed or not
  bool packed = false;          ///< with weights that the solver packs
};

/// A problem computed by one solver. Stages of a depthwise separable problem that it does not take, if it takes one, go
/// to the last solver of the registry, which takes everything.
class SolverPlan {
 public:
  /// Whether the solver takes a stage of the problem.
  static bool takes(const Problem& problem, const Solver& solver, const DeviceModel& model,
                    const PlanOptions& options = {}) {
    return std::ranges::any_of(tasks_of(problem),
                               [&](const Task& task) { return solver.supports(varied(task, options), model).ok; });
  }

  /// Throws Error{usage} if takes() is false. Compiles nothing yet.
  SolverPlan(const Problem& problem, const Solver& solver, const DeviceModel& model, const PlanOptions& options = {})
      : problem_(problem), name_(solver.name()) {
    for (const Task& plain : tasks_of(problem)) {
      const Task task = varied(plain, options);
      const bool taken = solver.supports(task, model).ok;
      const Solver& chosen = taken ? solver : *solvers().back();
      const std::vector<Candidate> candidates = chosen.candidates(task, model);
      const bool wanted =
          taken && std::ranges::find(candidates, options.configuration, &Candidate::configuration) != candidates.end();
      const std::string configuration = wanted ? options.configuration : candidates.front().configuration;
      stages_.push_back({.task = task, .plan = chosen.plan(task, configuration, model), .rest = {}});
      if (!reaches_all(task.problem)) stages_.back().rest = unreached_plan(task, model);
      name_ += " " + configuration;
    }
  }

  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// Solver and configurations.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// One stage's kernels; `rest` writes the outputs that no tap reaches.
  struct Stage {
    Task task;
    KernelPlan plan;
    std::optional<KernelPlan> rest;
    const cuda::Kernel *kernel = nullptr, *rest_kernel = nullptr, *packing_kernel = nullptr;
    cuda::Buffer packed{};
  };
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }

  /// Of all kernels.
  [[nodiscard]] std::vector<cuda::KernelSource> sources() const {
    std::vector<cuda::KernelSource> all;
    for (const Stage& stage : stages_) {
      all.push_back(stage.plan.source);
      if (stage.rest) all.push_back(stage.rest->source);
      if (stage.plan.packing) all.push_back(stage.plan.packing->source);
    }
    return all;
  }

  /// Gets ready to run. Throws Error{compile, launch}.
  void load(const cuda::Context& context) {
    for (Stage& stage : stages_) {
      stage.kernel = cuda::load(context, stage.plan.source);
      if (stage.rest) stage.rest_kernel = cuda::load(context, stage.rest->source);
      if (!stage.plan.packing) continue;
      stage.packing_kernel = cuda::load(context, stage.plan.packing->source);
      stage.packed = cuda::Buffer(context, stage.plan.packing->bytes);
    }
  }

  /// Of the value between two stages.
  [[nodiscard]] std::size_t workspace_bytes() const {
    if (stages_.size() < 2) return 0;
    const Problem& first = stages_.front().task.problem;
    return static_cast<std::size_t>(element_count(output_shape(first))) * element_bytes(first.out_dtype);
  }

  /// After load(): packs the weights and starts the convolution on `stream`.
  void run(const DeviceTensors& tensors, void* workspace, void* stream) const {
    for (const Stage& stage : stages_) {
      const bool first = &stage == &stages_.front(), last = &stage == &stages_.back();
      shared::Arguments arguments{.tensors = {.input = first ? tensors.input : workspace,
                                              .weight = first ? tensors.weight : tensors.pointwise_weight,
                                              .bias = first ? tensors.bias : tensors.pointwise_bias,
                                              .residual = last ? tensors.residual : nullptr,
                                              .output = last ? tensors.output : workspace},
                                  .sizes = sizes_of(stage.task.problem, stage.task.strided)};
      if (stage.packing_kernel) {
        shared::Arguments packing = arguments;
        packing.tensors.output = stage.packed.as();
        stage.packing_kernel->launch(stage.plan.packing->launch, stream, packing);
        arguments.tensors.weight = stage.packed.as();
      }
      stage.kernel->launch(stage.plan.launch(arguments.sizes), stream, arguments);
      if (stage.rest_kernel) stage.rest_kernel->launch(stage.rest->launch(arguments.sizes), stream, arguments);
    }
  }

 private:
  static Task varied(Task task, const PlanOptions& options) {
    task.wide = task.wide || options.wide;
    task.packed = options.packed;
    return task;
  }

  Problem problem_;
  std::string name_;
  std::vector<Stage> stages_;
};

/// The solver with that name. Throws Error{usage} if there is none.
inline const Solver& solver_named(std::string_view name) {
  const auto found = std::ranges::find(solvers(), name, [](const Solver* solver) { return solver->name(); });
  if (found == solvers().end()) throw Error(ErrorCode::usage, "no solver is called " + std::string(name));
  return **found;
}

/// The problem on every solver that takes it. A refusal of the last solver, which takes everything, is a failure.
inline std::vector<SolverPlan> plans_of(const Problem& problem, const DeviceModel& model,
                                        const PlanOptions& options = {}) {
  std::vector<SolverPlan> plans;
  for (const Solver* solver : solvers()) {
    if (SolverPlan::takes(problem, *solver, model, options)) {
      plans.emplace_back(problem, *solver, model, options);
    } else {
      EXPECT_NE(solver, solvers().back()) << solver->name() << " refuses " << spell(problem);
    }
  }
  return plans;
}

/// The same of many problems, one after the other.
inline std::vector<SolverPlan> plans_of(std::span<const Problem> problems, const DeviceModel& model,
                                        const PlanOptions& options = {}) {
  std::vector<SolverPlan> plans;
  for (const Problem& problem : problems) {
    for (SolverPlan& plan : plans_of(problem, model, options)) plans.push_back(std::move(plan));
  }
  return plans;
}

/// Compiles what load() will ask for, side by side. What does not compile is left for load() to complain of.
inline void compile_ahead(const cuda::Context& context, std::span<const SolverPlan> plans) {
  std::vector<cuda::KernelSource> sources;
  for (const SolverPlan& plan : plans) {
    for (cuda::KernelSource& source : plan.sources()) sources.push_back(std::move(source));
  }
  try {
    (void)cuda::load_all(context, sources);
  } catch (const Error&) {
    return;
  }
}

}  // namespace tapconv::testing
