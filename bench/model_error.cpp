// How far the cost models are from the measurements in plan databases:
//
//     model_error FILE...
//
// A ratio is predicted over measured time. Plans of problems with two stages are left out: their time is that of both.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "plan/database.hpp"
#include "plan/planner.hpp"
#include "tapconv/error.hpp"

namespace {

using namespace tapconv;

struct Errors {
  int count = 0, stale = 0;
  double log_sum = 0, worst_log = 0;
  std::string worst;

  void add(double ratio, const std::string& what) {
    const double log = std::log(ratio);
    ++count;
    log_sum += std::abs(log);
    if (std::abs(log) <= std::abs(worst_log)) return;
    worst_log = log;
    worst = what;
  }
};

const DeviceModel* find_device(const std::string& name) {
  for (const DeviceModel& device : known_devices()) {
    if (device.facts.name == name) return &device;
  }
  return nullptr;
}

void add(std::map<std::string, Errors>& solvers, const StoredPlan& plan) {
  Errors& errors = solvers[plan.solver];
  const DeviceModel* const device = find_device(plan.device_name);
  const Problem problem = parse_problem(plan.problem);
  const Task task = tasks_of(problem).front();
  if (!device || !plan.alone || plan_key(plan) != plan_key(task, *device)) {
    ++errors.stale;
    return;
  }
  try {
    const Choice choice = choose_named(task, *device, plan.solver, plan.configuration);
    errors.add(choice.candidate.predicted_ms / plan.measured_ms, plan.problem + " by " + plan.configuration);
  } catch (const Error&) {
    ++errors.stale;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::map<std::string, Errors> solvers;
    for (int i = 1; i < argc; ++i) {
      for (const auto& [key, plan] : read_plans(argv[i])) add(solvers, plan);
    }
    for (const auto& [solver, errors] : solvers) {
      fmt::print("{}: {} plans, {} left out (another device, version or configuration, or two stages)\n", solver,
                 errors.count, errors.stale);
      if (errors.count > 0)
        fmt::print("  off by a factor of {:.3f} in the geometric mean; worst ratio {:.3f}: {}\n",
                   std::exp(errors.log_sum / errors.count), std::exp(errors.worst_log), errors.worst);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "model_error: {}\n", error.what());
    return 1;
  }
}
