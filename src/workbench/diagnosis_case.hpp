#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "workbench/diagnosis_scan.hpp"

namespace tapconv {

/// An output that was examined.
struct Sample {
  std::int64_t index = 0;
  Place place{};
  Content content = Content::number;
  double actual = 0;
  OracleOutput expected;
  double bound = 0;
  double ratio = 0;  ///< |error| / bound, by the rules of ErrorStatistics
  bool wrong = false;

  [[nodiscard]] double error() const { return actual - expected.value; }
};

/// |actual - expected| / bound, by the rules of ErrorStatistics.
[[nodiscard]] double error_ratio(const Problem& problem, double actual, const OracleOutput& expected);

/// A result under examination: what the tests of a diagnosis share.
class Case {
 public:
  explicit Case(const Evidence& evidence);

  [[nodiscard]] const Problem& problem() const { return problem_; }
  /// The evidence's; where the problem has no residual the earlier output, if there is one, is in its place.
  [[nodiscard]] const Operands& operands() const { return operands_; }
  [[nodiscard]] const StoredOutput& output() const { return output_; }
  [[nodiscard]] const Scan& scan() const { return scan_; }
  [[nodiscard]] std::int64_t outputs() const { return outputs_; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  /// Ascending in their index.
  [[nodiscard]] const std::vector<Sample>& samples() const { return samples_; }
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }
  /// Whether every output was examined.
  [[nodiscard]] bool whole() const { return static_cast<std::int64_t>(samples_.size()) == outputs_; }
  /// Products of one output.
  [[nodiscard]] double reduction() const { return reduction_; }

  /// Root mean squares over the samples that are numbers: of the error, of an honest chain's error, of what is
  /// expected, and of what the activation itself may err by.
  struct Noise {
    double error = 0, chain = 0, value = 0, activation = 0;
  };
  [[nodiscard]] const Noise& noise() const { return noise_; }

  /// What the oracle has for outputs.
  [[nodiscard]] std::vector<OracleOutput> expected(std::span<const std::int64_t> indices,
                                                   OperandRounding rounding) const;
  /// Examines one output more, without keeping it.
  [[nodiscard]] bool is_wrong(const Place& place) const;
  /// At most `most` of the samples that are (or are not) wrong, spread over all, in random order.
  [[nodiscard]] std::vector<const Sample*> some(bool wrong, std::size_t most) const;
  /// Whether an output's window reaches into the padding.
  [[nodiscard]] bool meets_padding(const Place& place) const;
  /// Outputs whose errors are too large for an honest sum, though within the bound, count as wrong from now on.
  void doubt();

 private:
  [[nodiscard]] std::vector<Sample> examine(std::vector<std::int64_t> indices) const;
  [[nodiscard]] std::vector<std::int64_t> around_wrong() const;
  void count();

  const Problem& problem_;
  Operands given_, operands_;
  std::uint64_t seed_;
  StoredOutput output_;
  Scan scan_;
  std::int64_t outputs_;
  double reduction_;
  std::vector<Sample> samples_;
  std::int64_t wrong_ = 0;
  Noise noise_;
};

}  // namespace tapconv
