#include "workbench/measurement.hpp"

#include <algorithm>

#include "problem/ceilings.hpp"
#include "problem/text.hpp"
#include "workbench/median.hpp"

namespace tapconv {
namespace {

/// The problem under the contract that a shown arithmetic belongs to.
Problem as_shown(Problem problem, const Fingerprint& print) {
  if (problem.dtype != DType::float32) return problem;  // their contracts round nothing that the types have not
  const bool exact = print.known && print.rounding == OperandRounding::exact;
  problem.contract = exact ? Contract::fp32 : Contract::tf32;
  return problem;
}

/// Why the device's times of back-to-back calls cannot be believed beside the host's; empty if they can. A call ends
/// before the host goes on, and what starting one takes is far below a millisecond.
std::string clocks_disagree(const Measurement& seen) {
  constexpr double starting_ms = 0.5;
  const double device = seen.sustained_ms, host = seen.sustained_wall_ms;
  if (host == 0 || (device <= 1.02 * host + 0.001 && host <= 1.5 * device + starting_ms)) return "";
  return fmt::format("back-to-back calls take {:.3g} ms by the device's clock and {:.3g} ms by the host's", device,
                     host);
}

}  // namespace

void judge_call(Measurement& measurement, Session& session, bool promises, std::span<const std::int64_t> outputs,
                std::span<const double> values) {
  const Problem& problem = session.problem();
  const OperandRounding declared = operand_rounding(problem.contract, problem.tie_rule);
  const bool as_declared = promises || measurement.print.consistent_with(declared);
  ErrorStatistics statistics(as_declared ? problem : as_shown(problem, measurement.print));
  const OperandRounding rounding = as_declared ? declared : measurement.print.rounding;
  const std::vector<OracleOutput> expected = session.evaluate(outputs, rounding);
  statistics.add(outputs, values, expected);
  measurement.max_bound_ratio = std::max(measurement.max_bound_ratio, statistics.worst_ratio());
  if (!measurement.errors) measurement.errors.emplace(problem);
  measurement.errors->add(
      outputs, values,
      rounding == OperandRounding::exact ? expected : session.evaluate(outputs, OperandRounding::exact));
}

BenchEntry entry_of(const Measurement& measurement, const Problem& problem, const std::string& device_name) {
  const auto [least, most] = std::ranges::minmax(measurement.spaced_ms);
  BenchEntry result{.name = measurement.name,
                    .layout = measurement.layout,
                    .arithmetic = measurement.print.name(),
                    .notes = measurement.notes,
                    .spaced_ms = median(measurement.spaced_ms),
                    .spaced_min_ms = least,
                    .spaced_max_ms = most,
                    .spaced_rounds_ms = measurement.spaced_ms,
                    .sustained_ms = measurement.sustained_ms,
                    .sustained_wall_ms = measurement.sustained_wall_ms,
                    .max_bound_ratio = measurement.max_bound_ratio,
                    .rms_error = {},
                    .max_error = {},
                    .reach_share = {},
                    .implausible = false,
                    .doubt = clocks_disagree(measurement)};
  if (measurement.errors && measurement.errors->rms_value() > 0) {
    result.rms_error = measurement.errors->rms_error() / measurement.errors->rms_value();
    result.max_error = measurement.errors->max_error() / measurement.errors->rms_value();
  }
  Problem computed = problem;
  if (measurement.print.known && measurement.print.rounding != OperandRounding::exact)
    computed = as_shown(problem, measurement.print);
  if (const auto floor = find_floor(computed, device_name)) {
    result.reach_share = floor->reach_ms / result.spaced_ms;
    if (result.spaced_min_ms < floor->plausible_ms)
      result.doubt = fmt::format("a call took {:.3g} ms, less than the {:.3g} ms that are physically possible",
                                 result.spaced_min_ms, floor->plausible_ms);
  }
  result.implausible = !result.doubt.empty();
  return result;
}

}  // namespace tapconv
