// From a sum to a stored output: bias, residual, activation, rounding to the output's type.
#pragma once

#include "tapconv/geometry.cuh"
#include "tapconv/numbers.cuh"

namespace tapconv {

// In the order of tapconv::Activation.
enum class Activation { none, relu, leaky_relu, silu, gelu, gelu_tanh };

// Formulas and error bounds: tapconv::activate() and activated_error().
template <Activation activation, class Number>
inline Number activate(Number v, Number negative_slope) {
  constexpr Number infinity = __builtin_bit_cast(double, 0x7ff0000000000000ull);
  if constexpr (activation == Activation::relu) {
    return v < 0 ? Number(0) : v;  // so that NaN stays NaN
  } else if constexpr (activation == Activation::leaky_relu) {
    return v < 0 ? negative_slope * v : v;
  } else if constexpr (activation == Activation::silu) {
    return v == -infinity ? Number(-0.0) : v / (1 + exp(-v));
  } else if constexpr (activation == Activation::gelu) {
    return v == -infinity ? Number(-0.0) : v / 2 * erfc(v * Number(-0.70710678118654752440));
  } else if constexpr (activation == Activation::gelu_tanh) {
    if (v == -infinity) return Number(-0.0);
    // v/2 (1 + tanh u) = v / (1 + exp(-2u)), without the cancellation.
    const Number u = Number(0.79788456080286535588) * (v + Number(0.044715) * v * v * v);
    return v / (1 + exp(-2 * u));
  } else {
    return v;
  }
}

// The values of an output's channel-dependent and position-dependent terms are added in the order bias, residual.
template <class Config>
struct Epilogue {
  using Number = typename Config::Number;
  using Output = typename Config::Output;

  // Of a channel, counted over all groups.
  static Number bias(long long channel, const shared::Tensors& tensors) {
    if constexpr (Config::shape.bias)
      return Number(to_number(static_cast<const typename Config::Bias*>(tensors.bias)[channel]));
    else
      return 0;
  }

  // `bias` is that of the output's channel; `residual` is the place of its residual.
  static Output finish(Number sum, Number bias, long long residual, const shared::Tensors& tensors) {
    if constexpr (Config::shape.bias) sum = add(sum, bias);
    if constexpr (Config::shape.residual)
      sum = add(sum, Number(to_number(static_cast<const Output*>(tensors.residual)[residual])));
    Output stored;
    from_number(activate<Config::activation>(sum, Number(Config::negative_slope)), stored);
    return stored;
  }
};

}  // namespace tapconv
