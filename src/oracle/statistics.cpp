#include "oracle/statistics.hpp"

#include <algorithm>
#include <limits>

namespace tapconv {

void ErrorStatistics::add(std::span<const std::int64_t> outputs, std::span<const double> actual,
                          std::span<const OracleOutput> expected) {
  for (std::size_t i = 0; i < outputs.size(); ++i) add_one(outputs[i], actual[i], expected[i]);
}

double ErrorStatistics::ratio_of(double actual, const OracleOutput& expected) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (expected.may_overflow) {
    const auto is_activated = [&](double sum) {
      return actual == activate(problem_.activation, sum, problem_.negative_slope);
    };
    if (!std::isfinite(actual) || is_activated(infinity) || is_activated(-infinity)) return 0;
  }
  if (std::isnan(expected.value)) return std::isnan(actual) ? 0 : infinity;
  if (std::isinf(expected.sum)) {
    const bool smooth = problem_.activation != Activation::none && problem_.activation != Activation::relu &&
                        problem_.activation != Activation::leaky_relu;
    return actual == expected.value || (smooth && std::isnan(actual) && expected.sum < 0) ? 0 : infinity;
  }
  if (std::isnan(actual)) return infinity;
  const double bound = allowed_error(problem_, expected);
  if (std::isinf(actual))
    return round_to(expected.value + std::copysign(bound, actual), problem_.out_dtype) == actual ? 0 : infinity;
  const double error = std::abs(actual - expected.value);
  return error == 0 ? 0 : bound == 0 ? infinity : error / bound;
}

void ErrorStatistics::add_one(std::int64_t output, double actual, const OracleOutput& expected) {
  ++count_;
  const double ratio = ratio_of(actual, expected);
  if (std::isfinite(expected.value) && std::isfinite(actual)) {
    const double error = std::abs(actual - expected.value);
    max_error_ = std::max(max_error_, error);
    rms_.add(error);
    value_rms_.add(expected.value);
    activation_rms_.add(activated_error(problem_.activation, expected.sum, 0, problem_.negative_slope));
    if (std::isfinite(expected.sequential)) sequential_rms_.add(expected.sequential - expected.value);
  }
  if (ratio > 1) ++violations_;
  if (ratio > worst_ratio_ || worst_output_ < 0) {
    worst_ratio_ = ratio;
    worst_output_ = output;
    worst_actual_ = actual;
    worst_expected_ = expected.value;
  }
}

void Closeness::add(std::span<const double> actual, std::span<const double> reference) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i], b = reference[i];
    ++count;
    if (a == b) continue;
    const double difference = std::abs(a - b);
    if (!(difference <= atol + rtol * std::abs(b))) ++failures;
    if (difference > max_difference) max_difference = difference;
  }
}

}  // namespace tapconv
