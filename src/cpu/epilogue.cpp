#include "cpu/epilogue.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "cpu/convert.hpp"
#include "cpu/threads.hpp"

namespace tapconv::cpu {
namespace {

template <class Function>
void transform(float* values, std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
}

// The C library's functions are exact to the last bit and keep the compiler from vector code; activations have room for
// an absolute error of 2^-21 in what they multiply their argument by.

/// e^x for x <= 0, to about 2^-22 of itself; 0 below -87.
float exponential(float x) {
  constexpr float shift = 0x1.8p23F;  // adding it leaves the nearest integer in the low bits
  const float shifted = x * std::numbers::log2e_v<float> + shift;
  const float whole = shifted - shift;
  const float rest = x - whole * 0x1.62e4p-1F - whole * 0x1.7f7d1cp-20F;  // ln 2 in two parts, the first short
  float power = 1 / 5040.0F;
  for (const float coefficient : {1 / 720.0F, 1 / 120.0F, 1 / 24.0F, 1 / 6.0F, 0.5F, 1.0F, 1.0F})
    power = power * rest + coefficient;
  const float scale = std::bit_cast<float>((std::bit_cast<std::uint32_t>(shifted) << 23) + 0x3f800000U);
  return x < -87 ? 0 : power * scale;
}

/// 1 / (1 + e^-x)
float logistic(float x) {
  const float e = exponential(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/// The normal distribution function, to 2^-23. Two polynomials, fitted for the least greatest error (4e-10 before
/// rounding): of x^2 around 0; beyond 1, times e^(-x^2/2), of 1 / (1 + 0.35 |x|).
float normal_distribution(float x) {
  const float magnitude = std::abs(x), square = x * x, t = 1 / (1 + 0.35F * magnitude);
  float near = -7.53030399e-06F;
  for (const float coefficient : {0.000113143641F, -0.00118598469F, 0.00997317093F, -0.0664903323F, 0.398942279F})
    near = near * square + coefficient;
  float far = -0.11329195F;
  for (const float coefficient : {0.322841139F, -0.0367490377F, 0.197636483F, 0.128649209F, 0.000844847839F})
    far = far * t + coefficient;
  const float tail = far * exponential(-square / 2);
  const float beyond = x < 0 ? tail : 1 - tail;
  return magnitude < 1 ? 0.5F + x * near : beyond;
}

// The formulas of activate(), in binary32.
void activate_all(Activation activation, double negative_slope, float* values, std::int64_t count) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return transform(values, count, [](float v) { return v < 0 ? 0.0F : v; });  // so that NaN stays NaN
    case Activation::leaky_relu:
      // In fp64: the slope may be beyond what a float holds.
      return transform(values, count, [=](float v) { return v < 0 ? static_cast<float>(negative_slope * v) : v; });
    case Activation::silu:
      return transform(values, count, [](float v) { return v * logistic(v); });
    case Activation::gelu:
      return transform(values, count, [](float v) { return v * normal_distribution(v); });
    case Activation::gelu_tanh:
      return transform(values, count, [](float v) {
        constexpr float scale = 2 * 0.7978845608F;  // 2 sqrt(2/pi)
        return v * logistic(scale * (v + 0.044715F * v * v * v));
      });
  }
}

}  // namespace

void Epilogue::apply(const float* sum, const std::byte* residual_values, std::byte* output, std::int64_t count,
                     int threads) const {
  // Small enough that a block stays in the first-level cache from one step to the next.
  constexpr std::int64_t block = 1024, grain = 8 * block;
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype));
  parallel_ranges(threads, count, grain, [&](std::int64_t first, std::int64_t last) {
    float values[block], added[block];
    for (std::int64_t begin = first; begin < last; begin += block) {
      const std::int64_t length = std::min(block, last - begin);
      std::copy_n(sum + begin, length, values);
      if (residual) {
        to_float(residual_values + begin * bytes, dtype, added, length);
        for (std::int64_t i = 0; i < length; ++i) values[i] += added[i];
      }
      activate_all(activation, negative_slope, values, length);
      from_float(values, dtype, output + begin * bytes, length);
    }
  });
}

Epilogue epilogue_of(const Problem& problem) {
  return {.residual = problem.residual,
          .activation = problem.activation,
          .negative_slope = problem.negative_slope,
          .dtype = problem.out_dtype};
}

}  // namespace tapconv::cpu
