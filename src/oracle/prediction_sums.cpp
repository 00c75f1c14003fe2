#include "oracle/prediction_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapconv {
namespace {

double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double bell(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

/// Calls visit(exponent, probability, E(|s|; s there)) for the binades of a normal s that matter to E(spacing^2).
template <class Visit>
void for_each_binade(double mean, double variance, Visit visit) {
  if (!(variance > 0) && mean == 0) return;
  const double deviation = std::max(std::sqrt(std::max(variance, 0.0)), std::abs(mean) * 1e-9);
  const int top = std::ilogb(std::abs(mean) + 9 * deviation);
  for (int exponent = top; exponent > top - 20; --exponent) {
    const double low = std::ldexp(1.0, exponent), high = 2 * low;
    double probability = 0, magnitude = 0;
    for (const double centre : {mean, -mean}) {
      const double a = (low - centre) / deviation, b = (high - centre) / deviation;
      // Differences of the upper tail keep their digits.
      const double part = a > 0 ? below(-a) - below(-b) : below(b) - below(a);
      probability += part;
      magnitude += centre * part + deviation * (bell(a) - bell(b));
    }
    if (probability > 0) visit(exponent, probability, magnitude);
  }
}

/// Midpoints of at most 64 equal parts of 1 ... count, and the number of steps that each stands for.
template <class Visit>
void for_each_step(double count, Visit visit) {
  const double parts = std::min(std::ceil(count), 64.0);
  for (double i = 0; i < parts; ++i) visit((i + 0.5) * count / parts + 0.5, count / parts);
}

/// `blocks` equal sums of their own, seen from their total.
AccumulationError independent(const AccumulationError& one, double square_of_one, double blocks) {
  return {.constant = blocks * (one.constant + one.square * square_of_one),
          .spread = blocks * (one.spread + one.spread_square * square_of_one)};
}

AccumulationError operator+(const AccumulationError& a, const AccumulationError& b) {
  return {.mean = a.mean + b.mean,
          .covariance = a.covariance + b.covariance,
          .linear = a.linear + b.linear,
          .constant = a.constant + b.constant,
          .square = a.square + b.square,
          .spread = a.spread + b.spread,
          .spread_square = a.spread_square + b.spread_square};
}

}  // namespace

Accumulator::Accumulator(const ProductLaw& law, const LastBits& bits, int precision)
    : law_(law), bits_(bits), precision_(precision) {}

Accumulator::Tail Accumulator::tail(int unit, double terms) const {
  double share = 0, square = 0, half = 0;
  for (auto bit = bits_.begin(); bit != bits_.lower_bound(unit); ++bit) {
    share += bit->second;
    square += bit->second * std::ldexp(1.0, 2 * bit->first);
    if (bit->first == unit - 1) half = bit->second;
  }
  if (share <= 0) return {};
  const double all_above = std::exp(terms * std::log1p(-std::min(share, 1 - 1e-15)));
  return {.any = 1 - all_above, .square = square / share, .half = half / share};
}

double Accumulator::rounding(double mean, double variance, double terms) const {
  double result = 0;
  for_each_binade(mean, variance, [&](int exponent, double probability, double) {
    // Odd multiples of g to nearest multiples of u: E(error^2) = (u^2 - 4 g^2) / 12, but u^2 / 4 for g = u / 2.
    const int unit = exponent - precision_ + 1;
    const double u2 = std::ldexp(1.0, 2 * unit);
    const Tail rest = tail(unit, terms);
    result += probability * rest.any * (u2 - 4 * rest.square + 3 * rest.half * u2) / 12;
  });
  return result;
}

double Accumulator::pair_rounding(double mean, double variance, double first) const {
  // The parts are first * s + z and (1 - first) * s - z with z independent of s. The smaller one decides the spacing g
  // of their sum s: multiples of g to nearest multiples of u > g have E(error^2) = (u^2 + 2 g^2) / 12.
  constexpr double step = 0.1875;
  const double deviation = std::sqrt(variance), apart = deviation * std::sqrt(first * (1 - first));
  double result = 0;
  for (int i = -32; i <= 32; ++i) {
    const double s = std::abs(mean + step * i * deviation), a = -first * s, b = (1 - first) * s;
    if (s == 0) continue;
    const auto inside = [&](double low, double high) { return below(high / apart) - below(low / apart); };
    const auto smaller_below = [&](double t) {
      return 2 * t >= s ? inside(a - t, b + t) : inside(a - t, a + t) + inside(b - t, b + t);
    };
    const int exponent = std::ilogb(s);
    double factor = 0;
    for (int j = 1; j <= 8; ++j) {
      const double low = j == 8 ? 0 : smaller_below(std::ldexp(1.0, exponent - j));
      factor += (smaller_below(std::ldexp(1.0, exponent - j + 1)) - low) * (1 + 2 * std::ldexp(1.0, -2 * j));
    }
    result += step * bell(step * i) * factor * std::ldexp(1.0, 2 * (exponent - precision_ + 1)) / 12;
  }
  return result;
}

AccumulationError Accumulator::walk(double variance, double count) const {
  // Given the end y of a random walk, the mean of s_k^2 over its course has the expectation y^2/3 + v/6 and the
  // variance (v^2 + 4 y^2 v)/45, where v is the walk's variance: that of a Brownian bridge along a straight line.
  const double v = count * law_.variance, mean = count * law_.mean;
  const double expected = (mean * mean + v) / 3 + v / 6;
  if (!(expected > 0)) return {};
  const double scale = variance / expected;
  return {.constant = scale * v / 6,
          .square = scale / 3,
          .spread = scale * scale * v * v / 45,
          .spread_square = scale * scale * 4 * v / 45};
}

AccumulationError Accumulator::chain(double count) const {
  const double mean = law_.mean / law_.density;  // of a product that is not zero; only such a one makes a rounding
  const double variance = law_.square / law_.density - mean * mean;
  double total = 0;
  for_each_step(count, [&](double k, double steps) {
    total += steps * law_.density * rounding((k - 1) * law_.mean + mean, (k - 1) * law_.variance + variance, 1);
  });
  return walk(total, count);
}

AccumulationError Accumulator::outer_chain(double block, double count) const {
  // The first block's sum is there already.
  double total = -rounding(block * law_.mean, block * law_.variance, block);
  for_each_step(count, [&](double k, double steps) {
    total += steps * rounding(k * block * law_.mean, k * block * law_.variance, block);
  });
  return walk(std::max(0.0, total), block * count);
}

AccumulationError Accumulator::tree(double block, double count) const {
  AccumulationError error;
  const double v = count * law_.variance, mean = count * law_.mean, blocks = std::ceil(count / block);
  const auto add = [&](double sums, double size, double first) {
    const double share = size / blocks, length = count * share;
    const double one = pair_rounding(length * law_.mean, length * law_.variance, first);
    // The mean square of a part of y with this share is share^2 y^2 + share (1 - share) v.
    const double expected = share * (mean * mean + v) + (1 - share) * v;
    if (!(expected > 0)) return;
    error.constant += sums * one * (1 - share) * v / expected;
    error.square += sums * one * share / expected;
    error.spread += sums * one * one * 2 * (1 - share);
  };
  for (double half = 1; half < blocks; half *= 2) {
    const double sums = std::floor(blocks / (2 * half)), rest = blocks - sums * 2 * half;
    if (sums > 0) add(sums, 2 * half, 0.5);
    if (rest > half) add(1, rest, half / rest);
  }
  return error;
}

AccumulationError Accumulator::truncated(double block, double count) const {
  // A cut takes E(cut |s|) / E(s^2) = slope of the sum s with it, the rest is noise about that.
  const double total = count / block;
  double slopes = 0, noise = 0;
  for_each_step(total, [&](double k, double steps) {
    const double mean = k * block * law_.mean, variance = k * block * law_.variance;
    const double square = mean * mean + variance;
    if (!(square > 0)) return;
    double cut_square = 0, cut = 0;
    for_each_binade(mean, variance, [&](int exponent, double probability, double magnitude) {
      // Odd multiples of g lose u/2 on average, u^2/3 - g^2/3 in the mean square.
      const int unit = exponent - precision_ + 1;
      const Tail rest = tail(unit, block);
      cut_square += probability * rest.any * (std::ldexp(1.0, 2 * unit) - rest.square) / 3;
      cut += magnitude * rest.any * std::ldexp(1.0, unit - 1);
    });
    const double slope = cut / square;
    slopes += steps * k * slope;
    noise += steps * std::max(0.0, cut_square - slope * slope * square);
  });
  AccumulationError error = walk(noise, count);
  // Partial sums of one walk: the sum over k of s_k has the variance (sum over j, k of min(j, k)) * variance of a step.
  const double weight = total * (total + 1) / 2, slope = slopes / weight;
  error.mean = -slope * weight * block * law_.mean;
  error.covariance = -slope * weight * block * law_.variance;
  error.linear = slope * slope * block * law_.variance * weight * (2 * total + 1) / 3;
  return error;
}

AccumulationError Accumulator::error(const Arithmetic& arithmetic, double count) const {
  if (count <= 0) return {};
  const double block = std::min(static_cast<double>(arithmetic.block), count), blocks = count / block;
  const double block_square = block * law_.variance + block * law_.mean * block * law_.mean;
  switch (arithmetic.accumulation) {
    case Accumulation::exact:
      return {};
    case Accumulation::chain:
      return chain(count);
    case Accumulation::blocked:
      return independent(chain(block), block_square, blocks) + outer_chain(block, blocks);
    case Accumulation::pairwise:
      return independent(chain(block), block_square, blocks) + tree(block, count);
    case Accumulation::truncated:
      return truncated(block, count);
  }
  return {};
}

}  // namespace tapconv
