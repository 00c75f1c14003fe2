#include <algorithm>
#include <array>
#include <random>

#include "problem/text.hpp"
#include "tapconv/shared.cuh"
#include "tapconv/workbench.hpp"
#include "workbench/check_reference.hpp"
#include "workbench/check_stages.hpp"
#include "workbench/judge.hpp"
#include "workbench/sentence.hpp"

namespace tapconv {
namespace {

/// How far a check is when a stage begins, in the order of check_stages, and at its end.
constexpr std::array<double, std::size(check_stages) + 1> stage_starts = {0,    0.05, 0.1,  0.55, 0.65,
                                                                          0.75, 0.85, 0.95, 1};

class Check {
 public:
  explicit Check(const CheckRequest& request)
      : request_(request),
        problem_(request.problem),
        rounding_(operand_rounding(problem_.contract, problem_.tie_rule)),
        samples_(request.samples.value_or(default_samples(problem_, request.device))),
        examiner_(request),
        own_(request, problem_) {
    report_.problem = problem_;
    report_.device = request.device;
    report_.device_name = own_.session().device_name();
    report_.secret_seed = request.secret_seed ? *request.secret_seed : std::random_device{}();
    report_.expected_arithmetic = problem_.contract == Contract::fp64   ? "fp64"
                                  : rounding_ == OperandRounding::exact ? "fp32"
                                                                        : std::string(name(rounding_));
  }

  CheckReport run() {
    if (!request_.output) {
      examiner_.tell(0, "planning");
      report_.solver = own_.subject().name();
    } else {
      report_.solver = "given output";
    }
    for (std::size_t i = 0; i < std::size(check_stages); ++i) {
      const auto& wanted = request_.stages;
      if (wanted.empty() || std::ranges::find(wanted, check_stages[i]) != wanted.end()) enter(i);
    }
    report_.diagnosis = examiner_.diagnosis();
    report_.passed = std::ranges::none_of(
        report_.stages, [](const CheckStage& stage) { return stage.result == CheckStage::Result::failed; });
    report_.sentence = sentence(report_);
    examiner_.tell(1, "done");
    return std::move(report_);
  }

 private:
  using Result = CheckStage::Result;

  /// Runs a stage, if that makes sense, and puts it into the report.
  void enter(std::size_t index) {
    const std::string_view name = check_stages[index];
    CheckStage stage;
    if (std::string reason = reason_to_skip(name); !reason.empty()) {
      stage.result = Result::skipped;
      stage.reason = std::move(reason);
    } else if (name == "full") {
      stage = judge_own_tensors(stage_starts[index], stage_starts[index + 1]);
    } else if (name == "fingerprint") {
      stage = judge_arithmetic();
    } else {
      examiner_.tell(stage_starts[index], fmt::format("stage {}", name));
      stage = run_on_trial(index);
    }
    stage.name = name;
    if (stage.problem.empty()) stage.problem = spell(problem_);
    report_.stages.push_back(std::move(stage));
  }

  [[nodiscard]] std::string reason_to_skip(std::string_view name) const {
    const bool own = name == "full" || name == "fingerprint";
    if (own) return "";
    if (request_.output) return "a given output is judged on its own tensors alone";
    // Who computes numbers wrong computes all of them wrong; integrity may say why.
    if (name == "integers" || name == "impulses" || name == "integrity") return "";
    for (const CheckStage& stage : report_.stages) {
      if (stage.result == Result::failed && stage.name != "fingerprint")
        return fmt::format("stage {} has failed", stage.name);
    }
    return "";
  }

  CheckStage run_on_trial(std::size_t index) {
    using Run = CheckStage (*)(const StageContext&);
    constexpr std::array<Run, std::size(check_stages)> runs = {
        check_integers,   check_impulses,       nullptr,        nullptr, check_distributions,
        check_neighbours, check_special_values, check_integrity};
    Trial& trial = trial_of_stages();
    const std::uint64_t seed = shared::mix(std::size(check_stages) * report_.secret_seed + index) >> 32;
    CheckStage stage = runs[index]({.request = request_, .trial = trial, .examiner = examiner_, .seed = seed});
    stage.problem = spell(trial.problem());
    return stage;
  }

  /// Of the problem itself, if it is small enough.
  Trial& trial_of_stages() {
    const Problem problem = trial_problem(request_);
    if (problem == problem_) {
      holds_ties_ = false;
      return own_;
    }
    if (!reduced_) reduced_ = std::make_unique<Trial>(request_, problem);
    return *reduced_;
  }

  CheckStage judge_own_tensors(double from, double to) {
    CheckStage stage;
    Session& session = own_.session();
    const std::uint64_t seed = request_.tensors.seed;
    const TensorSource& t = request_.tensors;
    const bool given = t.input || t.weight || t.bias || t.pointwise_weight || t.pointwise_bias || t.residual;
    const auto at = [&](double share) { return from + (to - from) * share; };
    session.fill(uniform_recipes(problem_, seed));
    upload_given(session, request_.tensors);
    if (request_.output) upload_given_output(session, *request_.output);
    judge_own(stage, given ? "given" : "uniform", Demand::accuracy, at(0), at(0.5));
    if (request_.output) given_print_ = fingerprint_output(session, seed);
    if (!request_.against.empty()) {
      examiner_.tell(at(0.5), "running the reference");
      comparison_.emplace(session, request_);
    }
    if (request_.output) return stage;
    session.fill(sparse_recipes(problem_, seed));
    judge_own(stage, "sparse", Demand::bound, at(0.6), at(0.8));
    session.fill(tie_recipes(problem_, seed));
    judge_own(stage, "ties", Demand::accuracy, at(0.8), at(1));
    holds_ties_ = true;
    return stage;
  }

  void judge_own(CheckStage& stage, const char* tensors, Demand demand, double from, double to) {
    examiner_.tell(from, "computing");
    if (!request_.output) own_.compute(false);
    CheckCase item = examiner_.judge(
        own_.session(), {.tensors = tensors, .demand = demand, .seed = report_.secret_seed, .samples = samples_}, from,
        to);
    if (!is_right(item)) {
      stage.result = Result::failed;
      if (stage.reason.empty()) stage.reason = fault_of(item, problem_);
      const std::array<std::int64_t, 1> worst{output_index(problem_, item.worst_place)};
      examiner_.explain(own_.session(), {}, worst);
    }
    report_.cases.push_back(std::move(item));
    if (request_.output) return;
    if (std::string what = own_.subject().trespass(); !what.empty() && stage.result != Result::failed) {
      stage.result = Result::failed;
      stage.reason = std::move(what);
    }
  }

  CheckStage judge_arithmetic() {
    CheckStage stage;
    Session& session = own_.session();
    const std::uint64_t seed = request_.tensors.seed;
    if (!request_.output && !holds_ties_) {
      session.fill(tie_recipes(problem_, seed));
      own_.compute(false);
    }
    const Fingerprint print = request_.output ? *given_print_ : fingerprint_output(session, seed);
    if (!print.known && !std::ranges::all_of(report_.cases, is_right)) {
      report_.arithmetic = print.name();
      stage.result = Result::skipped;
      stage.reason = "the result is as far from every arithmetic";
    } else if (request_.output) {
      name_given(print);
    } else {
      report_.arithmetic = print.consistent_with(rounding_) ? report_.expected_arithmetic : print.name();
    }
    if (stage.result == Result::passed && report_.arithmetic != report_.expected_arithmetic &&
        report_.indistinguishable.empty()) {
      stage.result = Result::failed;
      stage.reason =
          fmt::format("the result shows {}; the contract says {}", report_.arithmetic, report_.expected_arithmetic);
      examiner_.explain(session, {}, {});
    }
    if (comparison_) {
      session.fill(tie_recipes(problem_, seed));
      report_.reference = comparison_->judge();
    }
    return stage;
  }

  /// Whoever brings a result chose its tensors, and they may not tell one arithmetic from another.
  void name_given(const Fingerprint& print) {
    const std::vector<OperandRounding> rivals = print.rivals_of(rounding_, problem_.dtype);
    if (!print.consistent_with(rounding_)) {
      report_.arithmetic = print.name();
    } else if (rivals.empty()) {
      report_.arithmetic = report_.expected_arithmetic;
    } else {
      report_.arithmetic = "undecided";
      report_.indistinguishable = {report_.expected_arithmetic};
      for (const OperandRounding rival : rivals)
        report_.indistinguishable.emplace_back(rival == OperandRounding::exact ? "fp32" : name(rival));
    }
  }

  const CheckRequest& request_;
  const Problem& problem_;
  OperandRounding rounding_;
  std::int64_t samples_;
  Examiner examiner_;
  Trial own_;                       // of the problem itself
  std::unique_ptr<Trial> reduced_;  // of trial_problem(), if that is another
  bool holds_ties_ = false;         // whether own_ holds ties and what was computed of them
  std::optional<Fingerprint> given_print_;
  std::optional<ReferenceComparison> comparison_;
  CheckReport report_;
};

void expect_stages(const CheckRequest& request) {
  for (const std::string& stage : request.stages) {
    if (std::ranges::find(check_stages, stage) == std::end(check_stages))
      fail(ErrorCode::usage, "stages = {}; valid: {}", stage, fmt::join(check_stages, ", "));
  }
  const auto lacks = [&](std::string_view stage) {
    return !request.stages.empty() && std::ranges::find(request.stages, stage) == request.stages.end();
  };
  if (request.output && (lacks("full") || lacks("fingerprint")))
    fail(ErrorCode::usage, "stages = {}; a given output is judged by full, fingerprint",
         fmt::join(request.stages, ","));
  if (!request.against.empty() && (lacks("full") || lacks("fingerprint")))
    fail(ErrorCode::usage, "against = {}; it needs the stages full, fingerprint", request.against);
}

void expect_one_subject(const CheckRequest& request) {
  if (request.function && !request.function->compute)
    fail(ErrorCode::usage, "function \"{}\" is empty; valid: one that computes", request.function->name);
  if (!!request.function + !request.solver.empty() + !!request.output > 1)
    fail(ErrorCode::usage, "of function, solver and output more than one is given; valid: one of them, or none");
}

}  // namespace

std::string_view name(CheckStage::Result result) noexcept {
  switch (result) {
    case CheckStage::Result::passed:
      return "passed";
    case CheckStage::Result::failed:
      return "failed";
    case CheckStage::Result::skipped:
      return "skipped";
  }
  return "";
}

CheckReport check(const CheckRequest& request) {
  validate(request.problem);
  expect_reference(request.against, request.device);
  if (request.samples && *request.samples < 0)
    fail(ErrorCode::usage, "samples = {}; valid: 0 (all) or more", *request.samples);
  expect_stages(request);
  expect_one_subject(request);
  return Check(request).run();
}

}  // namespace tapconv
