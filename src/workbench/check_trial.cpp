#include "workbench/check_trial.hpp"

#include "plan/planner.hpp"
#include "workbench/host_subject.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

/// The named solver's best configuration.
Choice choose_solver(const Task& task, const DeviceModel& device, const std::string& name) {
  for (const Solver* solver : solvers()) {
    if (solver->name() == name && solver->supports(task, device).ok)
      return choose_named(task, device, name, solver->candidates(task, device).front().configuration);
  }
  return choose_named(task, device, name, "");  // throws why it cannot be
}

}  // namespace

Trial::Trial(const CheckRequest& request, const Problem& problem)
    : request_(request), session_(Session::open(problem, request.device)) {
  if (request.function) {
    own_ = make_host_subject(*session_, *request.function);
  } else if (!request.solver.empty()) {
    own_ = session_->engine_by(
        [&](const Task& task, const DeviceModel& device) { return choose_solver(task, device, request_.solver); });
  }
}

Executable& Trial::subject() { return own_ ? *own_ : session_->engine(); }

void Trial::compute(bool keep) {
  if (keep && computed_) earlier_ = output_bytes(*session_);
  execute(*session_, subject());
  computed_ = true;
}

Problem trial_problem(const CheckRequest& request) {
  // Dozens of results, each computed, and on a CPU examined, in some milliseconds.
  constexpr double most_elements = 0x1p22, most_flop = 1e8;
  const Problem& problem = request.problem;
  double elements = 0;
  for (const auto& shape : {input_shape(problem), weight_shape(problem), output_shape(problem)})
    elements += static_cast<double>(element_count(shape));
  const bool quick = request.device.kind == Device::Kind::cuda || work(problem).flop <= most_flop;
  return elements <= most_elements && quick ? problem : reduced(problem);
}

std::vector<std::byte> output_bytes(Session& session) {
  const Tensor output = session.download();
  const auto* begin = static_cast<const std::byte*>(output.view().data);
  return {begin, begin + static_cast<std::size_t>(output.size()) * element_bytes(output.dtype())};
}

}  // namespace tapconv
