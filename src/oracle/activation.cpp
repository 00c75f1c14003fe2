#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapconv/numerics.hpp"

namespace tapconv {

double activate(Activation activation, double value, double negative_slope) noexcept {
  switch (activation) {
    case Activation::none:
      return value;
    case Activation::relu:
      return value < 0 ? 0 : value;  // so that NaN stays NaN
    case Activation::leaky_relu:
      return value < 0 ? negative_slope * value : value;
    case Activation::silu:
      return value == -std::numeric_limits<double>::infinity() ? -0.0 : value / (1 + std::exp(-value));
    case Activation::gelu:
      // erfc keeps its digits where 1 + erf would lose them.
      return value == -std::numeric_limits<double>::infinity() ? -0.0
                                                               : value / 2 * std::erfc(-value / std::numbers::sqrt2);
    case Activation::gelu_tanh: {
      if (value == -std::numeric_limits<double>::infinity()) return -0.0;
      // v/2 (1 + tanh u) = v / (1 + exp(-2u)), without the cancellation.
      const double u = std::sqrt(2 / std::numbers::pi) * (value + 0.044715 * value * value * value);
      return value / (1 + std::exp(-2 * u));
    }
  }
  return value;
}

double activated_error(Activation activation, double sum, double sum_error, double negative_slope) noexcept {
  // The greatest slopes of silu and gelu are 1.0999 and 1.1289, of gelu_tanh 1.1300.
  constexpr double smooth_slope = 1.131;
  switch (activation) {
    case Activation::none:
    case Activation::relu:
      return sum_error;
    case Activation::leaky_relu:
      return std::max(1.0, std::abs(negative_slope)) * (sum_error + 0x1p-23 * std::abs(sum)) + 0x1p-149;
    case Activation::silu:
    case Activation::gelu:
    case Activation::gelu_tanh:
      return smooth_slope * sum_error + 0x1p-21 * std::abs(sum) + 0x1p-149;
  }
  return sum_error;
}

}  // namespace tapconv
