#pragma once

#include "oracle/statistics.hpp"

namespace tapconv {

/// Collects what honest summation may err by, beside ErrorStatistics of the same outputs. Bounds alone let bad
/// arithmetic through on long sums. An order other than the chain's may be a little worse; where sums are short a
/// rounding of the result alone is, and so is what tensor cores cut off of partial sums, which is a share of S /
/// sqrt(K) if these are promoted every 32 products; and over few outputs chance decides. Asked of the contracts whose
/// sums are as good as their type: `ieee`, `fp32` and `fp64`.
class HonestErrors {
 public:
  explicit HonestErrors(const Problem& problem);

  void add(const OracleOutput& expected);

  /// Whether the RMS error is one that honest summation may have.
  [[nodiscard]] bool include(const ErrorStatistics& statistics) const;

 private:
  const Problem& problem_;
  double roundoff_;
  RootMeanSquare partial_sums_;
  std::int64_t inexact_ = 0;
};

}  // namespace tapconv
