#include "workbench/tune.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>

#include "cuda/driver.hpp"
#include "engine/session.hpp"
#include "plan/planner.hpp"
#include "problem/text.hpp"
#include "workbench/judge.hpp"
#include "workbench/tuning_schedule.hpp"

namespace tapconv {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string date_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string k_order(const Task& task, const Choice& choice, const DeviceModel& model) {
  return choice.solver->plan(task, choice.candidate.configuration, model).k_order;
}

/// Of two dense tensors of one shape, layout and type.
bool same_bits(const Tensor& a, const Tensor& b) {
  const std::size_t bytes = static_cast<std::size_t>(a.size()) * element_bytes(a.dtype());
  return std::memcmp(a.view().data, b.view().data, bytes) == 0;
}

/// A candidate and its kernels.
struct Contender {
  Choice choice;
  TunedCandidate report;
  std::unique_ptr<Executable> executable;
};

class Tuning {
 public:
  Tuning(const TuneRequest& request, PlanDatabase& database)
      : request_(request),
        database_(database),
        start_s_(now_s()),
        session_(Session::open(request.problem, request.device)),
        model_(device_model(cuda::Context::get(request.device.index).facts())),
        tasks_(tasks_of(request.problem)) {
    for (const Task& task : tasks_) choices_.push_back(choose(task, model_));
  }

  TuneReport run() {
    TuneReport report{.problem = request_.problem,
                      .device = request_.device,
                      .device_name = session_->device_name(),
                      .stages = {},
                      .file = database_.file().string()};
    session_->fill(uniform_recipes(request_.problem, request_.seed));
    std::vector<StoredPlan> found;
    for (std::size_t stage = 0; stage < tasks_.size(); ++stage) {
      report.stages.push_back(tune_stage(stage));
      found.push_back(report.stages.back().best);
    }
    database_.record(found);
    report.correct = correct_;
    report.seconds = now_s() - start_s_;
    tell(1, "done");
    return report;
  }

 private:
  void tell(double fraction, std::string_view doing) const {
    if (request_.progress) request_.progress(fraction, doing);
  }

  /// When the stage's share of the time is used up; the stages' shares are equal.
  [[nodiscard]] double deadline_s(std::size_t stage, double share) const {
    const double stages = static_cast<double>(tasks_.size());
    return start_s_ + request_.seconds * (static_cast<double>(stage) + share) / stages;
  }

  /// The problem with one stage's choice replaced.
  [[nodiscard]] std::unique_ptr<Executable> executable(std::size_t stage, const Choice& choice) const {
    return session_->engine_by([&, at = std::size_t{0}](const Task&, const DeviceModel&) mutable {
      const std::size_t now = at++;
      return now == stage ? choice : choices_[now];
    });
  }

  [[nodiscard]] Tensor output_of(Executable& candidate) {
    execute(*session_, candidate);
    return session_->download();
  }

  /// The default first, then every solver's best by its model, together in the models' order.
  std::vector<Choice> contenders_of(const Task& task, const Choice& first, std::size_t& untried) const {
    const std::string order = k_order(task, first, model_);
    std::vector<Choice> others;
    for (const Solver* solver : solvers()) {
      if (!solver->supports(task, model_).ok) continue;
      int taken = 0;
      for (const Candidate& candidate : solver->candidates(task, model_)) {
        const Choice choice{.solver = solver, .candidate = candidate, .verdicts = {}, .tuned = false};
        if (solver == first.solver && candidate.configuration == first.candidate.configuration) {
          ++taken;
        } else if (taken < request_.top && (request_.any_order || k_order(task, choice, model_) == order)) {
          others.push_back(choice);
          ++taken;
        } else {
          ++untried;
        }
      }
    }
    std::ranges::stable_sort(others, {}, [](const Choice& choice) { return choice.candidate.predicted_ms; });
    others.insert(others.begin(), first);
    return others;
  }

  TunedStage tune_stage(std::size_t stage) {
    TunedStage result;
    std::vector<Contender> contenders;
    for (const Choice& choice : contenders_of(tasks_[stage], choices_[stage], result.untried)) {
      // Half of the time is for measuring.
      if (!contenders.empty() && now_s() >= deadline_s(stage, 0.5)) {
        ++result.untried;
        continue;
      }
      tell(progress_of(stage, 0.4), fmt::format("compiling {}", choice.candidate.configuration));
      contenders.push_back(prepared(stage, choice, contenders.empty()));
    }
    TuningSchedule schedule(contenders.size(), deadline_s(stage, 1), now_s);
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (!contenders[i].executable) schedule.refuse(i);
    }
    while (const auto next = schedule.next()) {
      tell(progress_of(stage, 0.5 + 0.5 * schedule.progress()), "measuring");
      schedule.record(*next, timed(*contenders[*next].executable));
    }
    const std::size_t best = verified_best(schedule, contenders);
    choices_[stage] = contenders[best].choice;
    result.best = stored_plan(tasks_[stage], model_);
    result.best.solver = contenders[best].report.solver;
    result.best.configuration = contenders[best].report.configuration;
    result.best.measured_ms = schedule.median_ms(best);
    result.best.alone = tasks_.size() == 1;
    result.best.date = date_now();
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      contenders[i].report.measured_ms = schedule.median_ms(i);
      contenders[i].report.rounds = schedule.rounds(i);
      result.candidates.push_back(contenders[i].report);
    }
    std::ranges::stable_sort(result.candidates, {}, [](const TunedCandidate& candidate) {
      return std::pair(!candidate.problem.empty() || candidate.rounds == 0, candidate.measured_ms);
    });
    return result;
  }

  [[nodiscard]] double progress_of(std::size_t stage, double share) const {
    return (static_cast<double>(stage) + share) / static_cast<double>(tasks_.size());
  }

  /// Compiled and run once, untimed; a candidate that cannot be is reported. The default must.
  Contender prepared(std::size_t stage, const Choice& choice, bool is_default) {
    Contender contender{.choice = choice,
                        .report = {.solver = std::string(choice.solver->name()),
                                   .configuration = choice.candidate.configuration,
                                   .k_order = k_order(tasks_[stage], choice, model_),
                                   .predicted_ms = choice.candidate.predicted_ms,
                                   .is_default = is_default},
                        .executable = nullptr};
    try {
      contender.executable = executable(stage, choice);
      execute(*session_, *contender.executable);
    } catch (const Error& error) {
      if (is_default) throw;
      contender.executable.reset();
      contender.report.problem = error.what();
    }
    return contender;
  }

  double timed(Executable& candidate) {
    session_->chill();
    session_->synchronize();
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(request_.idle_ms));
    session_->hold();
    return session_->time(candidate);
  }

  /// The fastest whose bits are the default's, where its order of adding is; the others are refused.
  std::size_t verified_best(TuningSchedule& schedule, std::vector<Contender>& contenders) {
    std::optional<Tensor> expected;
    for (;;) {
      const std::size_t best = schedule.best().value();  // the default is always left
      Contender& contender = contenders[best];
      if (best == 0 || contender.report.k_order != contenders.front().report.k_order) return best;
      if (!expected) expected = output_of(*contenders.front().executable);
      const Tensor output = output_of(*contender.executable);
      if (same_bits(output, *expected)) return best;
      contender.report.problem = "its outputs are not those of the default plan, although both add in the same order";
      schedule.refuse(best);
      correct_ = false;
    }
  }

  const TuneRequest request_;
  PlanDatabase& database_;
  const double start_s_;
  const std::unique_ptr<Session> session_;
  const DeviceModel model_;
  const std::vector<Task> tasks_;
  std::vector<Choice> choices_;  ///< of every stage: the default, or what was found
  bool correct_ = true;
};

void expect_between(const char* field, double value, double least, double most) {
  if (!(value >= least && value <= most)) fail(ErrorCode::usage, "{} = {}; valid: {} to {}", field, value, least, most);
}

}  // namespace

TuneReport tune(const TuneRequest& request, PlanDatabase& database) {
  validate(request.problem);
  expect_between("time", request.seconds, 0.1, 86400);
  expect_between("top", request.top, 1, 1000);
  expect_between("idle_ms", request.idle_ms, 0, 1000);
  if (request.device.kind != Device::Kind::cuda)
    fail(ErrorCode::usage, "device = {}{}; valid: cuda, cuda:N", name(request.device),
         request.device.kind == Device::Kind::model ? " is a model, on which nothing is measured"
                                                    : "; there is nothing to tune on it");
  if (cuda::device_count() == 0)
    fail(ErrorCode::environment, "device = {}: there is no CUDA device, which tune needs: {}", name(request.device),
         cuda::missing_reason());
  // Rather now than after the measurements.
  database.expect_writable();
  return Tuning(request, database).run();
}

TuneReport tune(const TuneRequest& request) { return tune(request, PlanDatabase::of_process()); }

}  // namespace tapconv
