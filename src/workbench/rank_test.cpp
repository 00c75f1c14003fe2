#include "workbench/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "workbench/median.hpp"

namespace tapconv {
namespace {

constexpr std::size_t most_exact = 40;

/// Twice the mean ranks, which are whole numbers, of the joined sample in its order.
std::vector<std::size_t> double_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return all[i]; });
  std::vector<std::size_t> ranks(all.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && all[order[end]] == all[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = begin + 1 + end;
    begin = end;
  }
  return ranks;
}

/// The share of all choices of `chosen` of these double ranks with each sum.
std::vector<double> sum_distribution(const std::vector<std::size_t>& ranks, std::size_t chosen) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  // ways[n][s]: choices of n ranks with the sum s.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1, 0.0));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t n = chosen; n > 0; --n) {
      for (std::size_t s = most + 1; s-- > rank;) ways[n][s] += ways[n - 1][s - rank];
    }
  }
  std::vector<double> shares = std::move(ways[chosen]);
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= all;
  return shares;
}

/// P(Z >= z) of a standard normal Z.
double normal_tail(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

double p_value_of(const std::vector<std::size_t>& ranks, std::size_t m) {
  const std::size_t sum =
      std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(m), std::size_t{0});
  if (ranks.size() <= most_exact) {
    const std::vector<double> shares = sum_distribution(ranks, m);
    const auto at = shares.begin() + static_cast<std::ptrdiff_t>(sum);
    const double below = std::accumulate(shares.begin(), at + 1, 0.0), above = std::accumulate(at, shares.end(), 0.0);
    return std::min(1.0, 2 * std::min(below, above));
  }
  // The variance of the ranks that are there takes equal values into account; half a step makes up for the steps.
  const auto n = static_cast<double>(ranks.size()), count = static_cast<double>(m);
  double square = 0;
  for (const std::size_t rank : ranks) {
    const double off = (static_cast<double>(rank) - (n + 1)) / 2;
    square += off * off;
  }
  const double variance = count * (n - count) * square / (n * (n - 1));
  const double off = std::abs(static_cast<double>(sum) / 2 - count * (n + 1) / 2) - 0.5;
  return variance > 0 ? std::min(1.0, 2 * normal_tail(std::max(off, 0.0) / std::sqrt(variance))) : 1.0;
}

/// The greatest k for which the k-th least and the k-th greatest of the m n differences bound an interval of 95 %: the
/// Mann-Whitney statistic is below k with a probability of at most 2.5 %. 0 if there is none.
std::size_t interval_rank(std::size_t m, std::size_t n) {
  if (m + n > most_exact) {
    const auto pairs = static_cast<double>(m * n);
    const double half = 1.959964 * std::sqrt(pairs * static_cast<double>(m + n + 1) / 12);
    return static_cast<std::size_t>(std::max(0.0, std::floor(pairs / 2 - half)));
  }
  std::vector<std::size_t> ranks(m + n);
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = 2 * (i + 1);
  const std::vector<double> shares = sum_distribution(ranks, m);
  double tail = 0;
  for (std::size_t k = 0; k < m * n; ++k) {
    tail += shares[m * (m + 1) + 2 * k];
    if (tail > 0.025) return k;
  }
  return 0;
}

}  // namespace

RankComparison compare_ranks(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double one : b) {
    for (const double other : a) differences.push_back(one - other);
  }
  RankComparison result{
      .p_value = p_value_of(double_ranks(a, b), a.size()), .difference = median(differences), .interval = {}};
  if (const std::size_t rank = interval_rank(a.size(), b.size()); rank > 0) {
    std::ranges::sort(differences);
    result.interval = {.low = differences[rank - 1], .high = differences[differences.size() - rank]};
  }
  return result;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> corrected(p_values.size());
  double least = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    least = std::max(least, std::min(1.0, static_cast<double>(order.size() - i) * p_values[order[i]]));
    corrected[order[i]] = least;
  }
  return corrected;
}

}  // namespace tapconv
