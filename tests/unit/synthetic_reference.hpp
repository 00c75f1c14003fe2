#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/drawn_tensors.hpp"
#include "engine/host_tensors.hpp"
#include "engine/session.hpp"
#include "prediction_data.hpp"
#include "tapconv/shared.cuh"

namespace tapconv::testing {

/// How a synthetic library computes, after its operands were rounded.
enum class Adding {
  chain,
  blocked,   ///< chains of 64 products, then a chain of their sums
  pairwise,  ///< chains of 8, then sums of two neighbours, of four, ...
  once,      ///< exactly
  cut8,      ///< as tensor cores: 8 products and the sum so far, aligned to the largest, 25 bits each, cut off
  cut16,
  split,  ///< 3xTF32: high and low parts of both operands, without the product of the low ones; chains
};
inline constexpr std::array all_addings{Adding::chain, Adding::blocked, Adding::pairwise, Adding::once,
                                        Adding::cut8,  Adding::cut16,   Adding::split};

struct Products {
  std::vector<float> x, w;

  void add(float one, float other) {
    x.push_back(one);
    w.push_back(other);
  }
};

/// Products and the sum so far, `block` at a time: each cut off at 25 bits of the largest, then the sum at 24.
inline float add_aligned(const Products& products, std::int64_t block) {
  const auto cut = [](double value, double quantum) { return std::trunc(value / quantum) * quantum; };
  const auto count = static_cast<std::int64_t>(products.x.size());
  double sum = 0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    std::vector<double> terms{sum};
    for (std::int64_t i = begin; i < std::min(begin + block, count); ++i)
      terms.push_back(static_cast<double>(products.x[i]) * static_cast<double>(products.w[i]));
    double largest = 0;
    for (const double term : terms) largest = std::max(largest, std::abs(term));
    if (largest == 0) continue;
    const double quantum = std::ldexp(1.0, std::ilogb(largest) - 24);
    sum = 0;
    for (const double term : terms) sum += cut(term, quantum);
    if (sum != 0) sum = cut(sum, std::ldexp(1.0, std::ilogb(sum) - 23));
  }
  return static_cast<float>(sum);
}

inline float add(const Products& products, Adding adding) {
  const auto by = [&](const Products& p, Accumulation accumulation, std::int64_t block) {
    return accumulate(p.x, p.w, {.rounding = OperandRounding::exact, .accumulation = accumulation, .block = block});
  };
  switch (adding) {
    case Adding::chain:
      return by(products, Accumulation::chain, 1);
    case Adding::blocked:
      return by(products, Accumulation::blocked, 64);
    case Adding::pairwise:
      return by(products, Accumulation::pairwise, 8);
    case Adding::once: {
      double sum = 0;
      for (std::size_t i = 0; i < products.x.size(); ++i)
        sum += static_cast<double>(products.x[i]) * static_cast<double>(products.w[i]);
      return static_cast<float>(sum);
    }
    case Adding::cut8:
      return add_aligned(products, 8);
    case Adding::cut16:
      return add_aligned(products, 16);
    case Adding::split: {
      Products high, low;
      for (std::size_t i = 0; i < products.x.size(); ++i) {
        const shared::Split x = shared::split_tf32(products.x[i]), w = shared::split_tf32(products.w[i]);
        high.add(x.hi, w.hi);
        low.add(x.hi, w.lo);
        low.add(x.lo, w.hi);
      }
      return by(low, Accumulation::chain, 1) + by(high, Accumulation::chain, 1);
    }
  }
  return 0;
}

/// A problem (contiguous, padded with zeros, without residual and activation) on seeded tensors, computed by the
/// definition of a convolution.
class SyntheticReference {
 public:
  SyntheticReference(const Problem& problem, const Recipes& recipes) : problem_(problem), tensors_(problem) {
    const auto fill = [&](std::vector<std::byte>& target, const std::vector<std::int64_t>& shape,
                          const shared::Recipe& recipe) {
      if (!target.empty()) draw(target.data(), shape, problem.dtype, Layout::contiguous, recipe);
    };
    fill(tensors_.input, input_shape(problem), recipes.input);
    fill(tensors_.weight, weight_shape(problem), recipes.weight);
    fill(tensors_.bias, {bias_count(problem)}, recipes.bias);
    fill(tensors_.pointwise_weight, pointwise_weight_shape(problem), recipes.pointwise_weight);
    fill(tensors_.pointwise_bias, {pointwise_bias_count(problem)}, recipes.pointwise_bias);
  }

  [[nodiscard]] std::vector<std::vector<OracleOutput>> hypotheses(const std::vector<std::int64_t>& outputs) const {
    std::vector<std::vector<OracleOutput>> all;
    for (const OperandRounding rounding : all_operand_roundings)
      all.push_back(oracle(problem_, tensors_.operands(), outputs, rounding));
    return all;
  }

  /// Of a depthwise separable problem the first half is a chain over operands as they are.
  [[nodiscard]] std::vector<double> compute(const std::vector<std::int64_t>& outputs, OperandRounding rounding,
                                            Adding adding) const {
    std::vector<double> results;
    for (const std::int64_t output : outputs) {
      std::int64_t rest = output;
      std::array<std::int64_t, 3> place{0, 0, 0};
      const Extent extent = output_extent(problem_);
      for (int axis = problem_.rank - 1; axis >= 0; --axis) {
        place[axis] = rest % extent[axis];
        rest /= extent[axis];
      }
      const std::int64_t channel = rest % problem_.out_channels, image = rest / problem_.out_channels;
      const bool separable = problem_.kind == Kind::depthwise_separable;
      const float sum = separable ? pointwise(image, channel, place, rounding, adding)
                                  : add(products(problem_, image, channel, place, rounding), adding);
      const auto& bias = separable ? tensors_.pointwise_bias : tensors_.bias;
      results.push_back(round_to(problem_.bias ? sum + load(bias, channel) : sum, problem_.out_dtype));
    }
    return results;
  }

 private:
  [[nodiscard]] float load(const std::vector<std::byte>& tensor, std::int64_t place) const {
    return static_cast<float>(load_element(tensor.data(), problem_.dtype, place));
  }

  /// The rounded operands that meet in an output of a plain problem.
  [[nodiscard]] Products products(const Problem& p, std::int64_t image, std::int64_t channel,
                                  const std::array<std::int64_t, 3>& place, OperandRounding rounding) const {
    Products found;
    const bool transposed = p.kind == Kind::transposed;
    const std::int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups, group = channel / out;
    const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
    for (std::int64_t c = 0; c < in; ++c) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t rest = tap, x = 0, scale = 1;
        bool inside = true;
        for (int axis = p.rank - 1; axis >= 0; --axis) {
          const std::int64_t t = rest % p.kernel[axis];
          rest /= p.kernel[axis];
          std::int64_t position = place[axis] * p.stride[axis] + t * p.dilation[axis] - p.padding_lo[axis];
          if (transposed) {
            position = place[axis] + p.padding_lo[axis] - t * p.dilation[axis];
            inside = inside && position % p.stride[axis] == 0;
            position /= p.stride[axis];
          }
          inside = inside && position >= 0 && position < p.input[axis];
          x += position * scale;
          scale *= p.input[axis];
        }
        if (!inside) continue;
        const std::int64_t source = group * in + c;
        const std::int64_t filter = transposed ? source * out + channel % out : channel * in + c;
        found.add(round_operand(load(tensors_.input, (image * p.in_channels + source) * scale + x), rounding),
                  round_operand(load(tensors_.weight, filter * taps + tap), rounding));
      }
    }
    return found;
  }

  [[nodiscard]] float pointwise(std::int64_t image, std::int64_t channel, const std::array<std::int64_t, 3>& place,
                                OperandRounding rounding, Adding adding) const {
    const Problem depthwise = stages(problem_).front();
    Products found;
    for (std::int64_t c = 0; c < depthwise.out_channels; ++c) {
      float between = add(products(depthwise, image, c, place, OperandRounding::exact), Adding::chain);
      if (problem_.bias) between += load(tensors_.bias, c);
      found.add(round_operand(between, rounding),
                round_operand(load(tensors_.pointwise_weight, channel * depthwise.out_channels + c), rounding));
    }
    return add(found, adding);
  }

  Problem problem_;
  HostTensors tensors_;
};

}  // namespace tapconv::testing
