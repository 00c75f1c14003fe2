#include "plan/planner.hpp"

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
    choice.verdicts.push_back(
        {.solver = std::string(solver->name()), .supported = support.ok, .reason = support.reason});
    if (!support.ok) {
      reasons += fmt::format("; {}: {}", solver->name(), support.reason);
      continue;
    }
    const Candidate best = solver->candidates(task, device).front();
    if (choice.solver && choice.candidate.predicted_ms <= best.predicted_ms) continue;
    choice.solver = solver;
    choice.candidate = best;
  }
  if (!choice.solver) fail(ErrorCode::usage, "no solver for CUDA devices takes {}{}", spell(task.problem), reasons);
  return choice;
}

}  // namespace tapconv
