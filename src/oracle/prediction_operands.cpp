#include "oracle/prediction_operands.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "problem/text.hpp"

namespace tapconv {
namespace {

/// A part of a distribution whose values have the same sign and exponent.
struct Piece {
  double sign = 1;
  int exponent = 0;                 ///< 2^exponent <= |x| < 2^(exponent+1)
  std::array<double, 5> moments{};  ///< E(|x|^b; x in the piece); [0] is its probability
};

double density_at(const Distribution& distribution, double x) {
  if (distribution.shape == Distribution::Shape::uniform) return 1 / (distribution.second - distribution.first);
  const double z = (x - distribution.first) / distribution.second;
  return std::exp(-z * z / 2) / (distribution.second * std::sqrt(2 * std::numbers::pi));
}

/// The piece of magnitudes in [low, high), by Gauss-Legendre quadrature: exact for uniform ones.
Piece piece(const Distribution& distribution, double sign, int exponent, double low, double high) {
  constexpr std::array<double, 4> nodes{0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
  constexpr std::array<double, 4> weights{0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                          0.1012285362903763};
  Piece result{.sign = sign, .exponent = exponent, .moments = {}};
  const double middle = (low + high) / 2, half = (high - low) / 2;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const double node : {-nodes[i], nodes[i]}) {
      const double x = middle + half * node;
      double term = distribution.density * weights[i] * half * density_at(distribution, sign * x);
      for (double& moment : result.moments) {
        moment += term;
        term *= x;
      }
    }
  }
  return result;
}

/// Adds the pieces of magnitudes in [low, high). Values 40 binades below the top of an interval do not matter.
void add_pieces(std::vector<Piece>& pieces, const Distribution& distribution, double sign, double low, double high) {
  for (int binade = 0; binade < 40 && high > low; ++binade) {
    const int exponent = std::ilogb(std::nextafter(high, 0.0));
    const double bottom = std::max(low, std::ldexp(1.0, exponent));
    pieces.push_back(piece(distribution, sign, exponent, bottom, high));
    high = bottom;
  }
}

std::vector<Piece> pieces_of(const Distribution& distribution) {
  std::vector<double> cuts;
  if (distribution.shape == Distribution::Shape::uniform) {
    cuts = {distribution.first, distribution.second};
  } else {
    for (int i = -9; i <= 9; ++i) cuts.push_back(distribution.first + i * distribution.second);
  }
  std::vector<Piece> pieces;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    const double low = cuts[i - 1], high = cuts[i];
    add_pieces(pieces, distribution, 1, std::max(low, 0.0), std::max(high, 0.0));
    add_pieces(pieces, distribution, -1, std::max(-high, 0.0), std::max(-low, 0.0));
  }
  return pieces;
}

/// A rounding within one binade: to multiples of `spacing`.
struct Quantiser {
  enum class Mode { even, away, zero };
  double spacing = 0;
  Mode mode = Mode::even;

  friend bool operator==(const Quantiser&, const Quantiser&) = default;
};

/// binary16 has a least exponent, below which the spacing stays.
double fp16_spacing(int exponent) {
  if (exponent > 15) fail(ErrorCode::usage, "the distribution reaches 2^{}; float16 ends below 2^16", exponent);
  return std::ldexp(1.0, std::max(exponent, -14) - 10);
}

Quantiser data_quantiser(DType dtype, int exponent) {
  switch (dtype) {
    case DType::float32:
      return {.spacing = std::ldexp(1.0, exponent - 23)};
    case DType::float16:
      return {.spacing = fp16_spacing(exponent)};
    case DType::bfloat16:
      return {.spacing = std::ldexp(1.0, exponent - 7)};
    case DType::float64:
      return {.spacing = std::ldexp(1.0, exponent - 52)};
  }
  return {};
}

Quantiser quantiser(DType dtype, OperandRounding rounding, int exponent) {
  const Quantiser data = data_quantiser(dtype, exponent);
  Quantiser result = data;
  switch (rounding) {
    case OperandRounding::exact:
      break;
    case OperandRounding::tf32_rna:
      result = {.spacing = std::ldexp(1.0, exponent - 10), .mode = Quantiser::Mode::away};
      break;
    case OperandRounding::tf32_rn:
      result = {.spacing = std::ldexp(1.0, exponent - 10)};
      break;
    case OperandRounding::tf32_rz:
      result = {.spacing = std::ldexp(1.0, exponent - 10), .mode = Quantiser::Mode::zero};
      break;
    case OperandRounding::bf16:
      result = {.spacing = std::ldexp(1.0, exponent - 7)};
      break;
    case OperandRounding::fp16:
      result = {.spacing = fp16_spacing(exponent)};
      break;
  }
  return result.spacing > data.spacing ? result : data;
}

using Moments = std::array<double, 5>;

Moments uniform_moments(double mean, double variance) {
  const double second = mean * mean + variance;
  const double third = mean * mean * mean + 3 * mean * variance;
  const double fourth = mean * mean * mean * mean + 6 * mean * mean * variance + 9.0 / 5 * variance * variance;
  return {1, mean, second, third, fourth};
}

Moments two_point_moments(double step, double probability) {
  return {1, probability * step, probability * step * step, probability * step * step * step,
          probability * step * step * step * step};
}

/// E(d^a), d = coarse(x) - fine(x), where fine has the smaller spacing f: d takes the multiples of f within one
/// spacing c of the coarse one with equal chances. If fine rounds to nearest both ends count half.
Moments nested_moments(const Quantiser& coarse, const Quantiser& fine, double data_spacing) {
  const auto bias = [](const Quantiser& q) { return q.mode == Quantiser::Mode::zero ? -q.spacing / 2 : 0.0; };
  const double c2 = coarse.spacing * coarse.spacing, f2 = fine.spacing * fine.spacing;
  const bool floors =
      fine.mode == Quantiser::Mode::zero || (coarse.mode == Quantiser::Mode::zero && fine.spacing == data_spacing);
  return uniform_moments(bias(coarse) - bias(fine), (floors ? c2 - f2 : c2 + 2 * f2) / 12);
}

/// E(d^a) of magnitudes, d = a(x) - b(x).
Moments difference_moments(const Quantiser& a, const Quantiser& b, double data_spacing) {
  using Mode = Quantiser::Mode;
  if (a == b) return {1, 0, 0, 0, 0};
  if (a.spacing > b.spacing) return nested_moments(a, b, data_spacing);
  if (a.spacing < b.spacing) {
    Moments moments = nested_moments(b, a, data_spacing);
    for (const int odd : {1, 3}) moments[odd] = -moments[odd];
    return moments;
  }
  const auto height = [](Mode mode) { return mode == Mode::zero ? 0 : mode == Mode::even ? 1 : 2; };
  const double step = height(a.mode) > height(b.mode) ? a.spacing : -a.spacing;
  // Half of the ties go up either way.
  const bool ties_alone = a.mode != Mode::zero && b.mode != Mode::zero;
  return two_point_moments(step, ties_alone ? data_spacing / a.spacing / 2 : 0.5);
}

double fourth_cumulant(const Moments& raw) {
  const double mean = raw[1], variance = raw[2] - mean * mean;
  const double central = raw[4] - 4 * mean * raw[3] + 6 * mean * mean * raw[2] - 3 * mean * mean * mean * mean;
  return central - 3 * variance * variance;
}

}  // namespace

JointMoments joint_moments(const Distribution& distribution, DType dtype, OperandRounding rounding,
                           OperandRounding reference) {
  JointMoments result{};
  for (const Piece& part : pieces_of(distribution)) {
    const Quantiser a = quantiser(dtype, rounding, part.exponent), b = quantiser(dtype, reference, part.exponent);
    const Moments d = difference_moments(a, b, data_quantiser(dtype, part.exponent).spacing);
    // A whole binade below half a spacing becomes zero.
    const double top = std::ldexp(1.0, part.exponent + 1);
    const bool a_vanishes = a.spacing / 2 >= top, b_vanishes = b.spacing / 2 >= top;
    for (std::size_t i = 0; i <= 4; ++i) {
      for (std::size_t j = 0; i + j <= 4; ++j) {
        const double sign = (i + j) % 2 == 1 ? part.sign : 1;
        double moment = d[i] * part.moments[j];
        if (a_vanishes != b_vanishes) moment = (a_vanishes && i % 2 == 1 ? -1 : 1) * part.moments[i + j];
        if (a_vanishes && b_vanishes) moment = i == 0 ? part.moments[j] : 0;
        result[i][j] += sign * moment;
      }
    }
  }
  return result;
}

ProductLaw product_law(const JointMoments& x, const JointMoments& w, double density) {
  // The difference is dx w + x dw + dx dw; its powers by the multinomial theorem.
  constexpr std::array<double, 5> factorial{1, 1, 2, 6, 24};
  Moments raw{};
  for (std::size_t power = 1; power <= 4; ++power) {
    for (std::size_t i = 0; i <= power; ++i) {
      for (std::size_t j = 0; i + j <= power; ++j) {
        const std::size_t k = power - i - j;
        raw[power] += factorial[power] / (factorial[i] * factorial[j] * factorial[k]) * x[i + k][j] * w[j + k][i];
      }
    }
  }
  ProductLaw law;
  law.density = density;
  law.mean = x[0][1] * w[0][1];
  law.square = x[0][2] * w[0][2];
  law.variance = law.square - law.mean * law.mean;
  law.difference = raw[1];
  law.difference_variance = std::max(0.0, raw[2] - raw[1] * raw[1]);
  law.fourth_cumulant = fourth_cumulant(raw);
  law.value_fourth_cumulant = fourth_cumulant({1, law.mean, law.square, x[0][3] * w[0][3], x[0][4] * w[0][4]});
  law.covariance = x[1][1] * w[0][2] + x[0][2] * w[1][1] + x[1][1] * w[1][1] - raw[1] * law.mean;
  return law;
}

LastBits last_bits(const Distribution& distribution, DType dtype, OperandRounding rounding) {
  LastBits result;
  for (const Piece& part : pieces_of(distribution)) {
    const int last = std::ilogb(quantiser(dtype, rounding, part.exponent).spacing);
    // Each further bit is zero with even chances, down to the leading one, which is not.
    double share = part.moments[0] / distribution.density;
    for (int bit = last; bit < part.exponent; ++bit) result[bit] += share /= 2;
    result[std::max(part.exponent, last)] += share;
  }
  return result;
}

LastBits product_bits(const LastBits& input, const LastBits& weight) {
  LastBits result;
  for (const auto& [x, x_share] : input) {
    for (const auto& [w, w_share] : weight) result[x + w] += x_share * w_share;
  }
  return result;
}

}  // namespace tapconv
