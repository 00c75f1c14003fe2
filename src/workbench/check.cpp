#include <algorithm>
#include <cmath>
#include <numeric>

#include "problem/text.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/judge.hpp"
#include "workbench/sentence.hpp"

namespace tapconv {
namespace {

/// Outputs held on the host at a time.
constexpr std::int64_t chunk = 1 << 22;

/// Below so many outputs an RMS error says nothing.
constexpr std::int64_t least_outputs_for_rms = 64;

/// Calls body(outputs) with every output, or with a sample of them, a chunk at a time.
template <class Body>
void for_outputs(const Problem& problem, std::int64_t samples, std::uint64_t seed, const Body& body) {
  const std::int64_t total = element_count(output_shape(problem));
  if (samples > 0 && samples < total) {
    const std::vector<std::int64_t> outputs = sample_outputs(problem, samples, seed);
    const auto size = static_cast<std::int64_t>(outputs.size());
    for (std::int64_t begin = 0; begin < size; begin += chunk)
      body(std::span(outputs).subspan(static_cast<std::size_t>(begin),
                                      static_cast<std::size_t>(std::min(chunk, size - begin))),
           begin, size);
    return;
  }
  std::vector<std::int64_t> outputs;
  for (std::int64_t begin = 0; begin < total; begin += chunk) {
    outputs.resize(static_cast<std::size_t>(std::min(chunk, total - begin)));
    std::iota(outputs.begin(), outputs.end(), begin);
    body(std::span<const std::int64_t>(outputs), begin, total);
  }
}

class Check {
 public:
  explicit Check(const CheckRequest& request)
      : request_(request),
        problem_(request.problem),
        rounding_(operand_rounding(problem_.contract, problem_.tie_rule)),
        samples_(request.samples.value_or(default_samples(problem_, request.device))),
        session_(Session::open(problem_, request.device)) {
    report_.problem = problem_;
    report_.device = request.device;
    report_.device_name = session_->device_name();
    report_.expected_arithmetic = problem_.contract == Contract::fp64   ? "fp64"
                                  : rounding_ == OperandRounding::exact ? "fp32"
                                                                        : std::string(name(rounding_));
  }

  CheckReport run() {
    session_->fill(uniform_recipes(problem_, request_.tensors.seed));
    upload_given(*session_, request_.tensors);
    const Fingerprint print = request_.output ? judge_given_output() : judge_engine();
    report_.passed = passed(print);
    report_.sentence = sentence(report_);
    tell(1, "done");
    return std::move(report_);
  }

 private:
  /// The name of the first case.
  [[nodiscard]] const char* own_tensors() const {
    const TensorSource& t = request_.tensors;
    const bool given = t.input || t.weight || t.bias || t.pointwise_weight || t.pointwise_bias || t.residual;
    return given ? "given" : "uniform";
  }

  Fingerprint judge_engine() {
    const std::uint64_t seed = request_.tensors.seed;
    tell(0, "planning");
    Executable& engine = session_->engine();
    report_.solver = engine.name();
    compute_and_judge(engine, own_tensors(), 0.05, 0.5);
    const std::unique_ptr<Executable> reference = compare_with_reference();
    session_->fill(sparse_recipes(problem_, seed));
    compute_and_judge(engine, "sparse", 0.6, 0.75);
    session_->fill(tie_recipes(problem_, seed));
    compute_and_judge(engine, "ties", 0.75, 0.9);
    Fingerprint print = fingerprint_output(*session_, seed);
    report_.arithmetic = print.consistent_with(rounding_) ? report_.expected_arithmetic : print.name();
    if (reference) name_reference(*reference);
    return print;
  }

  Fingerprint judge_given_output() {
    const std::uint64_t seed = request_.tensors.seed;
    report_.solver = "given output";
    upload_given_output(*session_, *request_.output);
    judge(own_tensors(), 0.05, 0.5);
    Fingerprint print = fingerprint_output(*session_, seed);
    name_given(print);
    if (const std::unique_ptr<Executable> reference = compare_with_reference()) {
      session_->fill(tie_recipes(problem_, seed));
      name_reference(*reference);
    }
    return print;
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

  void tell(double fraction, std::string_view doing) const {
    if (request_.progress) request_.progress(fraction, doing);
  }

  void compute_and_judge(Executable& engine, const char* tensors, double from, double to) {
    tell(from, "computing");
    execute(*session_, engine);
    judge(tensors, from, to);
  }

  /// The output as it is.
  void judge(const char* tensors, double from, double to) {
    ErrorStatistics statistics(problem_);
    CheckCase item;
    std::int64_t unwritten = 0;
    item.tensors = tensors;
    for_outputs(problem_, samples_, request_.tensors.seed,
                [&](std::span<const std::int64_t> outputs, std::int64_t begin, std::int64_t size) {
                  tell(from + (to - from) * static_cast<double>(begin) / static_cast<double>(size),
                       "judging every output by the oracle");
                  const Outputs actual = session_->gather(outputs);
                  const std::vector<OracleOutput> expected = session_->evaluate(outputs, rounding_);
                  statistics.add(outputs, actual.values, expected);
                  for (std::size_t i = 0; i < expected.size(); ++i) {
                    // A NaN among the operands may be handed on with all its bits.
                    if (std::isnan(expected[i].value)) continue;
                    item.nans += std::isnan(actual.values[i]);
                    unwritten += actual.unwritten[i];
                  }
                });
    if (!request_.output) item.unwritten = unwritten;
    item.outputs = statistics.count();
    item.violations = statistics.violations();
    item.worst_ratio = statistics.worst_ratio();
    item.worst_place = output_place(problem_, statistics.worst_output());
    item.worst_actual = statistics.worst_actual();
    item.worst_expected = statistics.worst_expected();
    item.max_error = statistics.max_error();
    item.rms_error = statistics.rms_error();
    item.sequential_rms_error = statistics.sequential_rms_error();
    // An honest sum in another order may be a little worse than the chain, where sums are short a rounding of the
    // result alone is, and over few outputs chance decides.
    const bool dense = item.tensors != "sparse";
    item.accurate =
        !dense || rounding_ != OperandRounding::exact || item.outputs < least_outputs_for_rms ||
        statistics.rms_error() <= std::max(2 * statistics.sequential_rms_error(), 0x1p-23 * statistics.rms_value()) +
                                      statistics.rms_activation_error();
    report_.cases.push_back(std::move(item));
  }

  /// Runs the reference on the first case's tensors and compares; null without one. Which arithmetic explains the
  /// difference is known only later, so the oracle's sums under every rounding are kept.
  std::unique_ptr<Executable> compare_with_reference() {
    if (request_.against.empty()) return nullptr;
    tell(0.5, "running the reference");
    const auto outputs = sample_outputs(
        problem_, std::min<std::int64_t>(default_samples(problem_, request_.device), 65536), request_.tensors.seed);
    own_ = session_->gather(outputs).values;
    std::unique_ptr<Executable> reference = session_->default_reference(request_.against);
    execute(*session_, *reference);
    theirs_ = session_->gather(outputs).values;
    for (const OperandRounding rounding : all_operand_roundings) {
      std::vector<double>& sums = sums_.emplace_back();
      for (const OracleOutput& output : session_->evaluate(outputs, rounding)) {
        sums.push_back(round_to(output.value, problem_.out_dtype));
        if (rounding == OperandRounding::exact) exact_.push_back(output.value);
      }
    }
    return reference;
  }

  /// On the tensors full of ties.
  void name_reference(Executable& reference) {
    execute(*session_, reference);
    const Fingerprint print = fingerprint_output(*session_, request_.tensors.seed);
    ReferenceVerdict verdict{.name = reference.name(), .arithmetic = print.name()};
    RootMeanSquare own_error, their_error;
    for (std::size_t i = 0; i < exact_.size(); ++i) {
      own_error.add(own_[i] - exact_[i]);
      their_error.add(theirs_[i] - exact_[i]);
    }
    verdict.own_rms_error = own_error.value();
    verdict.rms_error = their_error.value();
    if (element_bytes(problem_.out_dtype) == 2) verdict.atol = verdict.rtol = 1e-2;
    Closeness closeness{.atol = verdict.atol, .rtol = verdict.rtol};
    closeness.add(own_, theirs_);
    verdict.outputs = closeness.count;
    verdict.failures = closeness.failures;
    verdict.max_difference = closeness.max_difference;
    if (print.known) {
      Closeness rounded{.atol = verdict.atol, .rtol = verdict.rtol};
      rounded.add(sums_[static_cast<std::size_t>(print.rounding)], theirs_);
      verdict.explained = std::max<std::int64_t>(0, closeness.failures - rounded.failures);
    }
    report_.reference = std::move(verdict);
  }

  /// Bounds alone let bad arithmetic through on long dense sums: the fingerprint must fit, and for binary32 contracts
  /// the RMS error must be that of honest sums.
  [[nodiscard]] bool passed(const Fingerprint& print) const {
    if (!print.consistent_with(rounding_)) return false;
    return std::all_of(report_.cases.begin(), report_.cases.end(), [](const CheckCase& item) {
      return item.violations == 0 && item.unwritten.value_or(0) == 0 && item.accurate;
    });
  }

  const CheckRequest& request_;
  const Problem& problem_;
  OperandRounding rounding_;
  std::int64_t samples_;
  std::unique_ptr<Session> session_;
  CheckReport report_;
  std::vector<double> own_, theirs_;       // the first case's outputs, sampled
  std::vector<std::vector<double>> sums_;  // what they should be, by rounding
  std::vector<double> exact_;              // the same for exact operands, in fp64
};

}  // namespace

CheckReport check(const CheckRequest& request) {
  validate(request.problem);
  expect_reference(request.against, request.device);
  if (request.samples && *request.samples < 0)
    fail(ErrorCode::usage, "samples = {}; valid: 0 (all) or more", *request.samples);
  return Check(request).run();
}

}  // namespace tapconv
