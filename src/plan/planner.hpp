#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "solver/solver.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

class PlanDatabase;

/// What computes a task: a solver, and one of its configurations.
struct Choice {
  const Solver* solver = nullptr;
  Candidate candidate;
  std::vector<Verdict> verdicts;  ///< of every solver, the most specialised first
  bool tuned = false;             ///< by the plan database; else by the cost models
};

/// Makes the choice for a task on a device.
using Chooser = std::function<Choice(const Task&, const DeviceModel&)>;

/// The first solver that takes the task, the most specialised one, and of its configurations that which its cost model
/// expects to be fastest; nothing is measured. Solvers add in different orders, and what they take does not depend on
/// batch or sizes: so neither does a bit of the result. Throws Error{usage} with every solver's reason if none takes
/// the task.
[[nodiscard]] Choice choose(const Task& task, const DeviceModel& device);

/// What the database holds of this task and device, if it is still legal; else what the cost models say.
[[nodiscard]] Choice choose(const Task& task, const DeviceModel& device, PlanDatabase& database);

/// By the process's database: how problems are planned.
[[nodiscard]] Choice choose_by_default(const Task& task, const DeviceModel& device);

/// The named solver's named configuration. Throws Error{usage} if there is no such solver, if it does not take the task
/// or if the configuration is none of its candidates.
[[nodiscard]] Choice choose_named(const Task& task, const DeviceModel& device, std::string_view solver,
                                  std::string_view configuration);

/// The tasks that a problem consists of, for dense tensors: one, or for a depthwise separable problem two, whose value
/// between is of number_type().
[[nodiscard]] std::vector<Task> tasks_of(const Problem& problem);

/// Whether the problem stands for others of more than one size.
[[nodiscard]] bool has_dynamic_sizes(const Problem& problem);

/// The kernels that compute a task, in the order of their launches: the solver's, and that of the outputs which no tap
/// reaches, if there are any at the task's sizes or may be at others.
[[nodiscard]] std::vector<KernelPlan> kernels_of(const Task& task, const Choice& choice, const DeviceModel& device);

}  // namespace tapconv
