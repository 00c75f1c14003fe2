#include <algorithm>
#include <cmath>
#include <map>

#include "oracle/prediction_sums.hpp"
#include "problem/lowering.hpp"

namespace tapconv {
namespace {

/// Shares of outputs by number of products.
using Histogram = std::map<double, double>;

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

/// How many taps lie inside the input at grid position q.
std::int64_t taps_inside(const TapAxis& axis, std::int64_t q) {
  const std::int64_t step = std::abs(axis.offset_step);
  const std::int64_t first = axis.in_step * q + std::min(axis.offset(0), axis.offset(axis.taps - 1));
  if (axis.taps == 1) return first >= 0 && first < axis.input;
  const std::int64_t low = std::max<std::int64_t>(0, floor_quotient(-first + step - 1, step));
  const std::int64_t high = std::min(axis.taps - 1, floor_quotient(axis.input - 1 - first, step));
  return std::max<std::int64_t>(0, high - low + 1);
}

void add_class(Histogram& histogram, const TapAxis& axis, bool padded_with_zeros, double most_places) {
  const auto grid = static_cast<double>(axis.grid), share = grid / static_cast<double>(axis.output);
  if (!padded_with_zeros) {
    histogram[static_cast<double>(axis.taps)] += share;
    return;
  }
  const double places = std::min(grid, most_places);
  for (double i = 0; i < places; ++i) {
    const auto q = static_cast<std::int64_t>((i + 0.5) * grid / places);
    histogram[static_cast<double>(taps_inside(axis, q))] += share / places;
  }
}

/// Merges neighbours, the pair of the least loss first, until `most` are left. The mean stays.
Histogram merged(Histogram histogram, std::size_t most) {
  while (histogram.size() > most) {
    auto best = histogram.begin();
    double least = INFINITY;
    for (auto it = histogram.begin(); std::next(it) != histogram.end(); ++it) {
      const auto next = std::next(it);
      const double distance = next->first - it->first;
      const double loss = distance * distance * it->second * next->second / (it->second + next->second);
      if (loss < least) {
        least = loss;
        best = it;
      }
    }
    const auto a = *best, b = *std::next(best);
    histogram.erase(histogram.erase(best));
    const double share = a.second + b.second;
    histogram[(a.first * a.second + b.first * b.second) / share] += share;
  }
  return histogram;
}

}  // namespace

std::vector<SumLength> sum_lengths(const Problem& problem) {
  Histogram lengths{{static_cast<double>(problem.in_channels / problem.groups), 1.0}};
  for (int i = 0; i < problem.rank; ++i) {
    Histogram axis;
    double reached = 0;
    const std::vector<TapAxis> classes = lower_axis(problem, i);
    const double most_places = std::max(16.0, std::floor(65536.0 / static_cast<double>(classes.size())));
    for (const TapAxis& part : classes) {
      add_class(axis, part, problem.padding_mode == PaddingMode::zeros, most_places);
      reached += static_cast<double>(part.grid) / static_cast<double>(part.output);
    }
    if (reached < 1 - 1e-12) axis[0] += 1 - reached;
    Histogram product;
    for (const auto& [length, share] : lengths) {
      for (const auto& [taps, part] : merged(axis, 64)) product[length * taps] += share * part;
    }
    lengths = merged(product, 64);
  }
  std::vector<SumLength> result;
  for (const auto& [length, share] : merged(lengths, 4)) result.push_back({.products = length, .share = share});
  return result;
}

}  // namespace tapconv
