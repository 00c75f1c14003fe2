#include "oracle/statistics.hpp"

#include <algorithm>
#include <limits>

namespace tapconv {

void ErrorStatistics::add(std::span<const std::int64_t> outputs, std::span<const float> actual,
                          std::span<const OracleOutput> expected) {
  for (std::size_t i = 0; i < outputs.size(); ++i) add_one(outputs[i], actual[i], expected[i]);
}

void ErrorStatistics::add_one(std::int64_t output, float actual, const OracleOutput& expected) {
  ++count_;
  const double infinity = std::numeric_limits<double>::infinity();
  double ratio = 0;
  if (!std::isfinite(expected.value)) {
    const bool same = std::isnan(expected.value) ? std::isnan(actual) : actual == expected.value;
    const bool overflowed = !std::isfinite(actual) && expected.magnitude > std::numeric_limits<float>::max();
    if (!same && !overflowed) ratio = infinity;
  } else if (!std::isfinite(actual)) {
    if (expected.magnitude <= std::numeric_limits<float>::max()) ratio = infinity;
  } else {
    const double error = std::abs(actual - expected.value);
    const double bound = error_bound(contract_, expected.products, expected.magnitude);
    ratio = error == 0 ? 0 : bound == 0 ? infinity : error / bound;
    max_error_ = std::max(max_error_, error);
    rms_.add(error);
    value_rms_.add(expected.value);
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

void Closeness::add(std::span<const float> actual, std::span<const float> reference) {
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
