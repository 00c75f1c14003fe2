#pragma once

#include <vector>

namespace tapconv {

/// A median with a distribution-free interval that holds it with at least 95 % confidence (order statistics of the
/// binomial distribution). Below six values there is none: the interval is the values' range.
struct MedianInterval {
  double median = 0, low = 0, high = 0;
};

/// The median of `values`; 0 of none.
[[nodiscard]] double median(std::vector<double> values);

/// Of at most 1000 values.
[[nodiscard]] MedianInterval median_interval(std::vector<double> values);

}  // namespace tapconv
