#include <algorithm>

#include "problem/text.hpp"
#include "workbench/bench.hpp"
#include "workbench/judge.hpp"
#include "workbench/suite.hpp"

namespace tapconv {
namespace {

/// Where the published problems' reference_arithmetic was found.
constexpr std::string_view published_device = "NVIDIA H200";

std::string name_of(OperandRounding rounding, const Problem& problem) {
  if (rounding != OperandRounding::exact) return std::string(name(rounding));
  return problem.dtype == DType::float64 ? "fp64" : "fp32";
}

/// A configuration's name without its knobs, which stand in braces: one engine's configurations compute alike.
std::string without_knobs(std::string name) {
  const std::size_t begin = name.find(" {"), end = name.find('}', begin == std::string::npos ? 0 : begin);
  if (begin != std::string::npos && end != std::string::npos) name.erase(begin, end + 1 - begin);
  return name;
}

/// The outputs that are examined, and what they should be.
struct Sample {
  std::vector<std::int64_t> outputs;
  std::vector<std::vector<OracleOutput>> hypotheses;
};

FingerprintEntry entry_of(const Problem& problem, const std::vector<double>& result, const Fingerprint& print) {
  FingerprintEntry entry;
  const OperandRounding shown = print.rounding;
  entry.arithmetic = print.name();
  if (print.known) {
    for (const OperandRounding rival : print.rivals_of(shown, problem.dtype))
      entry.alternatives.push_back(name_of(rival, problem));
  }
  // The name of undecided tie rules says already that there are two.
  if (!entry.alternatives.empty() && print.tie_rule_known) entry.arithmetic = "undecided";
  if (entry.arithmetic == "undecided" || !print.tie_rule_known)
    entry.alternatives.insert(entry.alternatives.begin(), name_of(shown, problem));
  for (const Hypothesis& one : print.hypotheses)
    entry.hypotheses.push_back({.arithmetic = name_of(one.rounding, problem),
                                .possible = one.possible,
                                .slope = one.slope,
                                .correlation = one.correlation,
                                .rms_distance = one.rms_distance,
                                .as_good = one.as_good});
  entry.summation = print.summation;
  entry.outputs = static_cast<std::int64_t>(result.size());
  entry.rms_error = print.hypotheses[static_cast<std::size_t>(shown)].rms_distance;
  entry.chain_rms_error = print.noise_rms;
  return entry;
}

class Report {
 public:
  Report(const FingerprintRequest& request, std::vector<TorchReference>& frameworks)
      : request_(request),
        problem_(request.problem),
        frameworks_(frameworks),
        session_(Session::open(problem_, request.device)) {
    report_.problem = problem_;
    report_.device = request.device;
    report_.device_name = session_->device_name();
    report_.reference_arithmetic = reference_arithmetic(problem_, report_.device_name);
  }

  FingerprintReport run() {
    if (!request_.of.empty()) {
      session_->fill(tie_recipes(problem_, request_.tensors.seed));
      take_sample();
    }
    for (std::size_t i = 0; i < request_.of.size(); ++i) {
      const std::string& source = request_.of[i];
      tell(static_cast<double>(i) / static_cast<double>(request_.of.size() + 1), source);
      if (source == "engine")
        name_engine();
      else if (is_torch(source))
        name_torch(source);
      else
        name_library(source);
    }
    if (request_.output) name_output();
    tell(1, "done");
    return std::move(report_);
  }

 private:
  void tell(double fraction, std::string_view source) const {
    if (request_.progress) request_.progress(fraction, source);
  }

  /// Of the operands as they are.
  void take_sample() {
    sample_.outputs = fingerprint_samples(problem_, request_.tensors.seed);
    sample_.hypotheses = hypotheses_of(*session_, sample_.outputs);
  }

  /// Adds what the session's output shows, to the entry of the same engine if that shows the same.
  Fingerprint add(const std::string& source, const std::string& name, const std::string& layout) {
    const std::vector<double> result = session_->gather(sample_.outputs).values;
    const Fingerprint print = fingerprint(problem_, result, sample_.hypotheses);
    FingerprintEntry entry = entry_of(problem_, result, print);
    const auto same = std::ranges::find_if(report_.entries, [&](const FingerprintEntry& other) {
      return other.source == source && other.name == name && other.arithmetic == entry.arithmetic &&
             other.summation == entry.summation;
    });
    if (same != report_.entries.end()) {
      ++same->configurations;
      if (std::ranges::find(same->layouts, layout) == same->layouts.end()) same->layouts.push_back(layout);
    } else {
      entry.source = source;
      entry.name = name;
      entry.layouts = {layout};
      report_.entries.push_back(std::move(entry));
    }
    return print;
  }

  void name_engine() {
    try {
      Executable& engine = session_->engine();
      execute(*session_, engine);
      const Fingerprint print = add("engine", engine.name(), engine.layout());
      report_.as_declared = print.consistent_with(operand_rounding(problem_.contract, problem_.tie_rule));
    } catch (const Error& error) {
      report_.refusals.push_back({.name = "engine", .source = "engine", .reason = error.what()});
    }
  }

  void name_library(const std::string& library) {
    std::vector<std::unique_ptr<Executable>> all;
    try {
      all = session_->references(library);
    } catch (const Error& error) {
      report_.refusals.push_back({.name = library, .source = library, .reason = error.what()});
    }
    for (std::unique_ptr<Executable>& one : all) {
      try {
        execute(*session_, *one);
        add(library, without_knobs(one->name()), one->layout());
      } catch (const Error& error) {
        report_.refusals.push_back({.name = one->name(), .source = library, .reason = error.what()});
      }
      one.reset();  // releases what it holds
    }
  }

  void name_torch(const std::string& source) {
    const auto framework = std::ranges::find(frameworks_, source, &TorchReference::name);
    const TorchOutputs found =
        framework->outputs_on_ties(problem_, request_.device, request_.tensors.seed, request_.worker_timeout_s);
    if (!found.reason.empty()) {
      report_.refusals.push_back({.name = source, .source = source, .reason = found.reason});
      return;
    }
    FingerprintEntry entry =
        entry_of(problem_, found.outputs, fingerprint(problem_, found.outputs, sample_.hypotheses));
    entry.source = source;
    entry.name = found.name;
    entry.layouts = {problem_.layout == Layout::channels_last ? "channels-last" : "contiguous"};
    report_.versions.insert(found.versions.begin(), found.versions.end());
    if (source == "torch" && !report_.reference_arithmetic.empty())
      report_.agrees = same_arithmetic(report_.reference_arithmetic, entry.arithmetic);
    report_.entries.push_back(std::move(entry));
  }

  void name_output() {
    session_->fill(uniform_recipes(problem_, request_.tensors.seed));
    upload_given(*session_, request_.tensors);
    upload_given_output(*session_, *request_.output);
    take_sample();
    add("file", "given output", std::string(problem_.layout == Layout::channels_last ? "channels-last" : "contiguous"));
  }

  const FingerprintRequest& request_;
  const Problem& problem_;
  std::vector<TorchReference>& frameworks_;
  std::unique_ptr<Session> session_;
  Sample sample_;
  FingerprintReport report_;
};

void expect_request(const FingerprintRequest& request) {
  const std::string library(library_of(request.device));
  expect_names("of", request.of, {"engine", library}, request.device);
  if (request.of.empty() && !request.output)
    fail(ErrorCode::usage, "of names nothing; valid on {}: engine, {}, torch, torch-benchmark, or a result",
         name(request.device), library);
  const TensorSource& given = request.tensors;
  const bool any =
      given.input || given.weight || given.bias || given.pointwise_weight || given.pointwise_bias || given.residual;
  if (any && !request.output)
    fail(ErrorCode::usage,
         "tensors are given; valid beside a result that was computed from them, others get their own");
  // Written so that NaN is refused.
  if (!(request.worker_timeout_s >= 1 && request.worker_timeout_s <= 3600))
    fail(ErrorCode::usage, "worker_timeout_s = {}; valid: 1 to 3600", request.worker_timeout_s);
}

}  // namespace

std::string reference_arithmetic(const Problem& problem, std::string_view device_name) {
  if (device_name != published_device) return {};
  for (const PublishedProblem& published : published_problems()) {
    Problem same = problem;
    same.contract = published.problem.contract;
    same.tie_rule = published.problem.tie_rule;
    if (same == published.problem) return published.reference_arithmetic;
  }
  return {};
}

bool same_arithmetic(std::string_view reference, std::string_view arithmetic) noexcept {
  if (reference == "depthwise fp32, pointwise tf32") return arithmetic == "tf32-rna" || arithmetic == "tf32-rn";
  return reference == arithmetic;
}

FingerprintReport fingerprint(const FingerprintRequest& request) {
  validate(request.problem);
  expect_request(request);
  std::vector<TorchReference> frameworks = torch_references(request.of);
  return Report(request, frameworks).run();
}

void fingerprint_suite(const std::vector<NamedProblem>& problems, const FingerprintRequest& request,
                       const std::function<void(const FingerprintRow&)>& done) {
  expect_request(request);
  if (request.output) fail(ErrorCode::usage, "a result is of one problem; a suite has several");
  std::vector<TorchReference> frameworks = torch_references(request.of);
  for_each_problem<FingerprintRow>(
      problems, request,
      [&](const FingerprintRequest& one) {
        validate(one.problem);
        return Report(one, frameworks).run();
      },
      done);
}

}  // namespace tapconv
