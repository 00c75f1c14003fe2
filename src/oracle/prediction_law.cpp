#include "oracle/prediction_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "problem/text.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

/// A weighted point.
struct Node {
  double weight = 0, place = 0;
};

double above(double z) { return std::erfc(z / std::numbers::sqrt2) / 2; }
double bell(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

/// In deviations: beyond it a normal number does not come.
constexpr double far = 10;

/// What is less likely is left out.
constexpr double least_weight = 1e-16;

/// P(|d| > x) of a normal d.
double two_tails(double mean, double deviation, double x) {
  if (x < 0) return 1;
  if (deviation == 0) return std::abs(mean) > x ? 1 : 0;
  return above((x - mean) / deviation) + above((x + mean) / deviation);
}

/// E(max(d - a, 0)), the integral of P(d > x) from a on.
double excess(double mean, double deviation, double a) {
  if (deviation == 0) return std::max(mean - a, 0.0);
  const double z = (a - mean) / deviation;
  return deviation * bell(z) - (a - mean) * above(z);
}

/// The mean of P(|d| > x) over x in [low, high].
double mean_tails(double mean, double deviation, double low, double high) {
  const double wide = high - low;
  if (deviation > 8 * wide) return two_tails(mean, deviation, (low + high) / 2);
  double result = 0;
  for (const double m : {mean, -mean}) result += (excess(m, deviation, low) - excess(m, deviation, high)) / wide;
  return std::clamp(result, 0.0, 1.0);
}

/// A gamma variable of mean 1 and the given variance, at evenly spaced logarithms. What lies below them is at 0.
std::vector<Node> gamma_nodes(double variance) {
  if (variance < 0.01) return {{1, 1}};
  const double shape = 1 / variance, narrow = std::min(1.0, std::sqrt(variance));
  const double low = std::max(-12.0, -9 * narrow), high = std::log(1 + 12 * std::sqrt(variance) + 45 * variance);
  const double step = 0.8 * narrow;
  std::vector<Node> nodes;
  double rest = 1;
  for (double t = low; t < high; t += step) {
    const double weight = step * std::exp(shape * (std::log(shape) + t - std::exp(t)) - std::lgamma(shape));
    nodes.push_back({weight, std::exp(t)});
    rest -= weight;
  }
  if (rest > 0) nodes.push_back({rest, 0});
  return nodes;
}

/// A standardised number of the given excess kurtosis, a normal one whose variance is gamma distributed, at evenly
/// spaced places: exact beyond need for smooth functions.
std::vector<Node> value_nodes(double excess_kurtosis, double step) {
  const std::vector<Node> scales = gamma_nodes(std::max(0.0, excess_kurtosis / 3));
  const auto last = static_cast<int>((scales.size() > 1 ? 9 : 6.5) / step);
  std::vector<Node> nodes;
  double total = 0;
  for (int i = -last; i <= last; ++i) {
    double density = 0;
    for (const Node& scale : scales) {
      const double deviation = std::max(std::sqrt(scale.place), 0.25);  // narrower ones fall between the places
      density += scale.weight * bell(step * i / deviation) / deviation;
    }
    nodes.push_back({density, step * i});
    total += density;
  }
  for (Node& node : nodes) node.weight /= total;
  return nodes;
}

double slope(const Storing& storing, double sum, double scale) {
  const double step = std::max({1e-5 * scale, 1e-9 * std::abs(sum), 1e-100});
  const auto act = [&](double y) { return activate(storing.activation, y, storing.negative_slope); };
  return (act(sum + step) - act(sum - step)) / (2 * step);
}

/// Spacing of a type's numbers at `value`.
double spacing(double value, DType dtype) {
  if (std::isinf(round_to(value, dtype)))
    fail(ErrorCode::usage, "outputs reach {:.3g}, beyond what {} holds", value, name(dtype));
  if (dtype == DType::float64) return std::ldexp(1.0, std::ilogb(std::max(std::abs(value), 1e-300)) - 52);
  return 2 * half_spacing(value, dtype);
}

}  // namespace

OutputErrors::OutputErrors(const std::vector<SumLaw>& sums, const Storing& storing) : rounded_(storing.rounded) {
  for (const SumLaw& sum : sums) add(sum, storing);
}

void OutputErrors::add(const SumLaw& sum, const Storing& storing) {
  const double value_variance = sum.value_variance(), value_deviation = std::sqrt(value_variance);
  const double regression = value_variance > 0 ? sum.covariance / value_variance : 0;
  const double independent = std::max(0.0, sum.variance - regression * sum.covariance);
  const double part = value_variance > 0 ? sum.products_variance / value_variance : 0;
  const double excess_kurtosis = value_variance > 0 ? sum.value_fourth_cumulant / (value_variance * value_variance) : 0;
  // The spacing of stored values changes at powers of two, which needs places closer by.
  const double step = rounded_ > 0 && element_bytes(storing.dtype) == 2 ? 0.0625 : 0.25;
  for (const Node& y : value_deviation > 0 ? value_nodes(excess_kurtosis, step) : std::vector<Node>{{1, 0}}) {
    if (y.weight < least_weight) continue;
    const double off = y.place * value_deviation, value = sum.value_mean() + off;
    const double products = sum.products_mean + part * off;
    const double square = products * products + (1 - part) * sum.products_variance;
    const double unit = spacing(value, storing.accumulator);
    const double variance = independent + sum.rest + sum.rest_square * square + sum.final_roundings * unit * unit / 12;
    // A mixture of normal laws of mean 0 has the fourth cumulant 3 Var(variance).
    const double spread = std::max(0.0, sum.fourth_cumulant / 3) + sum.rest_spread + sum.rest_spread_square * square;
    const double steep = storing.activation == Activation::none ? 1 : slope(storing, value, value_deviation);
    const double stored = activate(storing.activation, value, storing.negative_slope);
    for (const Node& scale : gamma_nodes(variance > 0 ? spread / (variance * variance) : 0)) {
      if (y.weight * scale.weight < least_weight) continue;
      cells_.push_back({.weight = sum.share * y.weight * scale.weight,
                        .value = stored,
                        .mean = steep * (sum.mean + regression * off),
                        .deviation = std::abs(steep) * std::sqrt(variance * scale.place),
                        .spacing = rounded_ > 0 ? spacing(stored, storing.dtype) : 0});
    }
  }
}

double OutputErrors::rms_value() const {
  double sum = 0;
  for (const Cell& cell : cells_) sum += cell.weight * cell.value * cell.value;
  return std::sqrt(sum);
}

double OutputErrors::square(const Cell& cell) const {
  const double unrounded = cell.mean * cell.mean + cell.deviation * cell.deviation;
  const double u = cell.spacing;
  if (rounded_ < 2) return unrounded + u * u / 12;
  const double reach = std::abs(cell.mean) + 9 * cell.deviation;
  if (u == 0 || reach > 64 * u) return unrounded + u * u / 6;
  // The difference n u of two stored values: E(n^2) = sum of (2n - 1) P(n or more).
  double sum = 0;
  for (double n = 1; n <= reach / u + 1; ++n)
    sum += (2 * n - 1) * mean_tails(cell.mean, cell.deviation, (n - 1) * u, n * u);
  return sum * u * u;
}

double OutputErrors::rms() const {
  double sum = 0;
  for (const Cell& cell : cells_) sum += cell.weight * square(cell);
  return std::sqrt(sum);
}

double OutputErrors::exceeding(const Cell& cell, double x) const {
  const double u = cell.spacing;
  if (std::abs(cell.mean) + far * cell.deviation + u <= x) return 0;
  if (u == 0) return two_tails(cell.mean, cell.deviation, x);
  if (rounded_ == 2) {
    // Two values a distance d apart are stored n or more steps apart with a chance of d/u - (n-1), within 0 and 1.
    const double n = std::floor(x / u) + 1;
    return mean_tails(cell.mean, cell.deviation, (n - 1) * u, n * u);
  }
  // A normal error and a uniform one within half a spacing.
  if (x >= u / 2) return mean_tails(cell.mean, cell.deviation, x - u / 2, x + u / 2);
  double inside = 0;
  for (const double m : {cell.mean, -cell.mean})
    inside += (excess(m, cell.deviation, x - u / 2) - excess(m, cell.deviation, x + u / 2)) / u;
  return std::clamp(inside, 0.0, 1.0);
}

double OutputErrors::exceeding(double x) const {
  double sum = 0;
  for (const Cell& cell : cells_) sum += cell.weight * exceeding(cell, x);
  return std::min(sum, 1.0);
}

double OutputErrors::failing(double atol, double rtol) const {
  double sum = 0;
  for (const Cell& cell : cells_) sum += cell.weight * exceeding(cell, atol + rtol * std::abs(cell.value));
  return std::min(sum, 1.0);
}

double OutputErrors::expected_max(double outputs) const {
  double top = 0;
  for (const Cell& cell : cells_) top = std::max(top, std::abs(cell.mean) + far * cell.deviation + cell.spacing);
  const auto quantile = [&](double expected_beyond) {
    double low = 0, high = top;
    while (high - low > 1e-2 * high) {
      const double middle = (low + high) / 2;
      (outputs * exceeding(middle) > expected_beyond ? low : high) = middle;
    }
    return high;
  };
  if (top == 0) return 0;
  // The integral of P(maximum > x), which is 1 up to where many outputs lie beyond x.
  const double low = outputs > 50 ? quantile(10) : 0, high = quantile(0.01);
  constexpr int parts = 24;
  double sum = 0;
  for (int i = 0; i < parts; ++i) {
    const double x = low + (high - low) * (i + 0.5) / parts;
    sum += -std::expm1(outputs * std::log1p(-std::min(exceeding(x), 1 - 1e-15)));
  }
  return low + (high - low) * sum / parts;
}

}  // namespace tapconv
