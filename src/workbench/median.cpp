#include "workbench/median.hpp"

#include <algorithm>
#include <cmath>

namespace tapconv {
namespace {

double middle(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return middle(values);
}

MedianInterval median_interval(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  // The median lies below the k-th smallest value with the probability that fewer than k of n fair coins show heads.
  // The largest k for which both tails together stay within 5 % gives the interval.
  std::size_t rank = 0;
  double tail = 0, term = std::pow(0.5, static_cast<double>(n));
  for (std::size_t k = 0; k < n / 2; ++k) {
    tail += term;
    if (2 * tail > 0.05) break;
    rank = k;
    term = term * static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
  return {.median = middle(values), .low = values[rank], .high = values[n - 1 - rank]};
}

}  // namespace tapconv
