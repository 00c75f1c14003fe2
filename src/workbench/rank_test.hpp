#pragma once

#include <optional>
#include <span>
#include <vector>

namespace tapconv {

/// How two independent samples differ in place.
struct RankComparison {
  double p_value = 1;     ///< two-sided, of the Mann-Whitney test
  double difference = 0;  ///< Hodges-Lehmann: the median of all differences of a value of b and one of a
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;  ///< 95 %, of the difference; absent if the samples are too small to have one
};

/// Compares samples of 1 to 1000 finite values each by their ranks; of equal values by their mean rank. Up to 40 values
/// in all the distribution of the rank sum is the exact one of all ways to share the ranks out, beyond it is the normal
/// one.
[[nodiscard]] RankComparison compare_ranks(std::span<const double> a, std::span<const double> b);

/// p-values corrected for their number (Holm): if all hypotheses are true, one falls below x with a probability of at
/// most x.
[[nodiscard]] std::vector<double> holm(std::span<const double> p_values);

}  // namespace tapconv
