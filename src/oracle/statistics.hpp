#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "oracle/oracle.hpp"

namespace tapconv {

/// Root mean square of a stream of numbers.
class RootMeanSquare {
 public:
  void add(double value) {
    sum_ += value * value;
    ++count_;
  }
  [[nodiscard]] double value() const { return count_ ? std::sqrt(sum_ / static_cast<double>(count_)) : 0.0; }

 private:
  double sum_ = 0;
  std::int64_t count_ = 0;
};

/// How far the outputs of a computation are from the oracle, judged by the problem's contract. An output whose exact
/// value is not finite must be the same infinity, or a NaN; one that overflows its type within the allowed error may be
/// that infinity. Where an intermediate sum may overflow (OracleOutput::may_overflow) a non-finite output, and what the
/// activation makes of an infinite sum, is accepted. So is a NaN for a smooth activation of -infinity, which is 0 times
/// infinity if computed as written.
class ErrorStatistics {
 public:
  explicit ErrorStatistics(const Problem& problem) : problem_(problem) {}

  /// `actual` holds the outputs as stored.
  void add(std::span<const std::int64_t> outputs, std::span<const double> actual,
           std::span<const OracleOutput> expected);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t violations() const { return violations_; }
  [[nodiscard]] double max_error() const { return max_error_; }
  [[nodiscard]] double rms_error() const { return rms_.value(); }
  /// RMS error of OracleOutput::sequential.
  [[nodiscard]] double sequential_rms_error() const { return sequential_rms_.value(); }
  /// RMS of what the activation itself may err by: the bound of activated_error() for an exact sum.
  [[nodiscard]] double rms_activation_error() const { return activation_rms_.value(); }
  /// RMS of the exact outputs.
  [[nodiscard]] double rms_value() const { return value_rms_.value(); }
  /// The largest |error| / bound, and where it is; -1 before any.
  [[nodiscard]] double worst_ratio() const { return worst_ratio_; }
  [[nodiscard]] std::int64_t worst_output() const { return worst_output_; }
  [[nodiscard]] double worst_actual() const { return worst_actual_; }
  [[nodiscard]] double worst_expected() const { return worst_expected_; }

 private:
  void add_one(std::int64_t output, double actual, const OracleOutput& expected);

  /// |error| / bound: above 1 is a violation.
  [[nodiscard]] double ratio_of(double actual, const OracleOutput& expected) const;

  Problem problem_;
  std::int64_t count_ = 0, violations_ = 0;
  double max_error_ = 0, worst_ratio_ = 0;
  std::int64_t worst_output_ = -1;
  double worst_actual_ = 0, worst_expected_ = 0;
  RootMeanSquare rms_, sequential_rms_, value_rms_, activation_rms_;
};

/// The customary check: elements with |a - b| > atol + rtol*|b|. Equal infinities agree, NaNs never do.
struct Closeness {
  double atol = 1e-4, rtol = 1e-4;
  std::int64_t count = 0, failures = 0;
  double max_difference = 0;  ///< of numbers; NaNs count as failures alone

  void add(std::span<const double> actual, std::span<const double> reference);
};

}  // namespace tapconv
