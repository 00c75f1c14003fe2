#pragma once

#include <array>
#include <map>

#include "tapconv/prediction.hpp"

namespace tapconv {

/// E(d^a x^b) for a + b <= 4, where x is an operand and d the difference of two roundings of it.
using JointMoments = std::array<std::array<double, 5>, 5>;

/// Those of an operand of `dtype`: d = rounding(x) - reference(x). Throws Error{usage} if values overflow.
[[nodiscard]] JointMoments joint_moments(const Distribution& distribution, DType dtype, OperandRounding rounding,
                                         OperandRounding reference);

/// The law of products of two operands, and of the difference of two roundings of them.
struct ProductLaw {
  double mean = 0, variance = 0;                   ///< of the product
  double square = 0;                               ///< E(product^2)
  double density = 1;                              ///< probability that it is not zero
  double difference = 0, difference_variance = 0;  ///< mean and variance of the difference
  double fourth_cumulant = 0;                      ///< of the difference
  double value_fourth_cumulant = 0;                ///< of the product
  double covariance = 0;                           ///< of product and difference
};
[[nodiscard]] ProductLaw product_law(const JointMoments& input, const JointMoments& weight, double density);

/// Probabilities of the exponents of the last bit that is not zero, of the elements that are not zero.
using LastBits = std::map<int, double>;

/// Those of an operand rounded so.
[[nodiscard]] LastBits last_bits(const Distribution& distribution, DType dtype, OperandRounding rounding);

/// Those of products.
[[nodiscard]] LastBits product_bits(const LastBits& input, const LastBits& weight);

}  // namespace tapconv
