#include "workbench/check_case.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "oracle/statistics.hpp"
#include "workbench/diagnosis.hpp"
#include "workbench/exact_operands.hpp"
#include "workbench/honest_errors.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

/// Outputs held on the host at a time.
constexpr std::int64_t chunk = 1 << 22;

/// Calls body(outputs, begin, size) with every output, or with a sample of them, a chunk at a time.
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

/// Outputs that have exact sums and are not equal to them.
struct ExactStatistics {
  std::int64_t violations = 0, worst_output = -1;
  double worst_error = 0, worst_actual = 0, worst_expected = 0;

  void add(const Problem& problem, double unit, std::int64_t output, double actual, const OracleOutput& expected) {
    if (!has_exact_sum(problem, expected, unit)) return;
    const double value = round_to(expected.value, problem.out_dtype);
    if (actual == value) return;
    // What is not a number is as wrong as can be.
    const double error = std::isfinite(actual) && std::isfinite(value) ? std::abs(actual - expected.value) : INFINITY;
    if (error <= exact_tolerance(problem, expected)) return;
    ++violations;
    if (worst_output >= 0 && error <= worst_error) return;
    worst_output = output;
    worst_error = error;
    worst_actual = actual;
    worst_expected = value;
  }
};

CheckCase case_of(const Problem& problem, const CaseSpec& spec, const ErrorStatistics& statistics,
                  const ExactStatistics& exact) {
  CheckCase item;
  item.tensors = spec.tensors;
  item.exact = spec.demand == Demand::exact;
  item.outputs = statistics.count();
  item.violations = statistics.violations();
  item.worst_ratio = statistics.worst_ratio();
  item.worst_place = output_place(problem, statistics.worst_output());
  item.worst_actual = statistics.worst_actual();
  item.worst_expected = statistics.worst_expected();
  item.max_error = statistics.max_error();
  item.rms_error = statistics.rms_error();
  item.sequential_rms_error = statistics.sequential_rms_error();
  if (exact.violations > 0) {
    item.violations = std::max(item.violations, exact.violations);
    item.worst_place = output_place(problem, exact.worst_output);
    item.worst_actual = exact.worst_actual;
    item.worst_expected = exact.worst_expected;
  }
  return item;
}

}  // namespace

CheckCase Examiner::judge(Session& session, const CaseSpec& spec, double from, double to) {
  const Problem& problem = session.problem();
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  ErrorStatistics statistics(problem);
  ExactStatistics exact;
  HonestErrors honest(problem);
  std::int64_t unwritten = 0, nans = 0;
  for_outputs(problem, spec.samples, spec.seed,
              [&](std::span<const std::int64_t> outputs, std::int64_t begin, std::int64_t size) {
                tell(from + (to - from) * static_cast<double>(begin) / static_cast<double>(size),
                     "judging every output by the oracle");
                const Outputs actual = session.gather(outputs);
                const std::vector<OracleOutput> expected = session.evaluate(outputs, rounding);
                statistics.add(outputs, actual.values, expected);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                  if (spec.demand == Demand::exact)
                    exact.add(problem, spec.unit, outputs[i], actual.values[i], expected[i]);
                  honest.add(expected[i]);
                  // A NaN among the operands may be handed on with all its bits.
                  if (std::isnan(expected[i].value)) continue;
                  nans += std::isnan(actual.values[i]);
                  unwritten += actual.unwritten[i];
                }
              });
  CheckCase item = case_of(problem, spec, statistics, exact);
  item.nans = nans;
  if (!request_.output) item.unwritten = unwritten;
  if (spec.demand == Demand::accuracy) item.accurate = honest.include(statistics);
  return item;
}

CheckCase Examiner::compute_and_judge(Trial& trial, const CaseSpec& spec) {
  trial.compute(true);
  return judge_computed(trial, spec);
}

CheckCase Examiner::judge_computed(Trial& trial, const CaseSpec& spec) {
  CheckCase item = judge(trial.session(), spec, fraction_, fraction_);
  if (!is_right(item)) {
    const std::array<std::int64_t, 1> worst{output_index(trial.problem(), item.worst_place)};
    explain(trial.session(), trial.earlier(), worst);
  }
  return item;
}

void Examiner::explain(Session& session, std::span<const std::byte> earlier, std::span<const std::int64_t> suspects) {
  if (diagnosis_) return;
  tell(fraction_, "explaining a wrong result");
  const std::vector<std::byte> output = output_bytes(session);
  Diagnosis found = diagnose({.problem = session.problem(),
                              .operands = session.host_operands(),
                              .output = output,
                              .earlier = earlier,
                              .poison = Session::poison_byte,
                              .poisoned = !request_.output,
                              .seed = request_.tensors.seed,
                              .suspects = suspects});
  // Exact operands show errors within the bound, which the diagnosis judges by.
  if (!found.cause.empty()) diagnosis_ = std::move(found);
}

void Examiner::tell(double fraction, std::string_view doing) {
  fraction_ = fraction;
  if (request_.progress) request_.progress(fraction, doing);
}

bool is_right(const CheckCase& item) {
  return item.violations == 0 && item.unwritten.value_or(0) == 0 && item.accurate;
}

std::int64_t trial_samples(const Session& session, const Device& device) {
  return std::max<std::int64_t>(256, default_samples(session.problem(), device) / 16);
}

}  // namespace tapconv
