#include "cpu/epilogue.hpp"

#include <algorithm>
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
      return transform(values, count, [](float v) { return v / (1 + std::exp(-v)); });
    case Activation::gelu:
      return transform(values, count,
                       [](float v) { return v / 2 * std::erfc(v * (-1 / std::numbers::sqrt2_v<float>)); });
    case Activation::gelu_tanh:
      return transform(values, count, [](float v) {
        constexpr float scale = -2 * 0.7978845608F;  // -2 sqrt(2/pi)
        return v / (1 + std::exp(scale * (v + 0.044715F * v * v * v)));
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
