#include "plan/planner.hpp"

#include <algorithm>

#include "plan/database.hpp"
#include "problem/log.hpp"
#include "problem/text.hpp"

namespace tapconv {

std::vector<Task> tasks_of(const Problem& problem) {
  std::vector<Task> tasks;
  DType input_dtype = problem.dtype;
  for (const Problem& stage : stages(problem)) {
    tasks.push_back(
        {.problem = stage, .input_dtype = input_dtype, .strided = false, .packed = false, .wide = !is_narrow(stage)});
    input_dtype = number_type(tasks.back());
  }
  if (tasks.size() == 2) {
    // Nothing is rounded on the way to the value between.
    tasks.front().problem.out_dtype = input_dtype;
    if (problem.contract == Contract::tf32) tasks.front().problem.contract = Contract::fp32;
  }
  return tasks;
}

Choice choose(const Task& task, const DeviceModel& device) {
  Choice choice;
  std::string reasons;
  for (const Solver* solver : solvers()) {
    const Support support = solver->supports(task, device);
    Verdict verdict{.solver = std::string(solver->name()), .supported = support.ok, .reason = support.reason};
    if (!support.ok) {
      reasons += fmt::format("; {}: {}", solver->name(), support.reason);
      choice.verdicts.push_back(std::move(verdict));
      continue;
    }
    Candidate best = solver->candidates(task, device).front();
    verdict.configuration = best.configuration;
    verdict.predicted_ms = best.predicted_ms;
    choice.verdicts.push_back(std::move(verdict));
    if (choice.solver) continue;
    choice.solver = solver;
    choice.candidate = std::move(best);
  }
  if (!choice.solver) fail(ErrorCode::usage, "no solver for CUDA devices takes {}{}", spell(task.problem), reasons);
  return choice;
}

Choice choose_named(const Task& task, const DeviceModel& device, std::string_view solver,
                    std::string_view configuration) {
  Choice choice = choose(task, device);
  const auto named = std::ranges::find(solvers(), solver, [](const Solver* one) { return one->name(); });
  if (named == solvers().end()) fail(ErrorCode::usage, "solver = {}; there is none of this name", solver);
  if (const Support support = (*named)->supports(task, device); !support.ok)
    fail(ErrorCode::usage, "solver {} does not take {}: {}", solver, spell(task.problem), support.reason);
  const std::vector<Candidate> candidates = (*named)->candidates(task, device);
  const auto found = std::ranges::find(candidates, configuration, &Candidate::configuration);
  if (found == candidates.end())
    fail(ErrorCode::usage, "configuration = \"{}\" is none that {} has for {}", configuration, solver,
         spell(task.problem));
  choice.solver = *named;
  choice.candidate = *found;
  return choice;
}

Choice choose(const Task& task, const DeviceModel& device, PlanDatabase& database) {
  const std::optional<StoredPlan> stored = database.find(plan_key(task, device));
  if (!stored) return choose(task, device);
  try {
    Choice choice = choose_named(task, device, stored->solver, stored->configuration);
    choice.tuned = true;
    return choice;
  } catch (const Error& error) {
    log(LogLevel::debug, "a stored plan is ignored: {}", error.what());
    return choose(task, device);
  }
}

Choice choose_by_default(const Task& task, const DeviceModel& device) {
  return choose(task, device, PlanDatabase::of_process());
}

bool has_dynamic_sizes(const Problem& problem) {
  return problem.dynamic_batch || std::ranges::any_of(problem.dynamic_input, [](bool dynamic) { return dynamic; });
}

std::vector<KernelPlan> kernels_of(const Task& task, const Choice& choice, const DeviceModel& device) {
  std::vector<KernelPlan> kernels;
  kernels.push_back(choice.solver->plan(task, choice.candidate.configuration, device));
  auto rest = unreached_plan(task, device);
  if (rest && (has_dynamic_sizes(task.problem) || !reaches_all(task.problem))) kernels.push_back(*std::move(rest));
  return kernels;
}

}  // namespace tapconv
