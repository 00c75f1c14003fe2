#pragma once

#include <string>
#include <vector>

#include "solver/solver.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

/// What computes a task: a solver, and one of its configurations.
struct Choice {
  const Solver* solver = nullptr;
  Candidate candidate;
  std::vector<Verdict> verdicts;  ///< of every solver, the most specialised first
};

/// The configuration that the cost models expect to be fastest; nothing is measured. Throws Error{usage} with every
/// solver's reason if none takes the task.
[[nodiscard]] Choice choose(const Task& task, const DeviceModel& device);

/// The tasks that a problem consists of, for dense tensors: one, or for a depthwise separable problem two, whose value
/// between is of number_type().
[[nodiscard]] std::vector<Task> tasks_of(const Problem& problem);

}  // namespace tapconv
