#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "oracle/oracle.hpp"
#include "oracle/statistics.hpp"
#include "tapconv/prediction.hpp"

namespace tapconv::testing {

/// Operands drawn from distributions.
class DrawnOperands {
 public:
  DrawnOperands(const Problem& problem, const OperandDistributions& of, std::uint64_t seed) : generator_(seed) {
    const bool separable = problem.kind == Kind::depthwise_separable;
    draw(input_, of.input, element_count(input_shape(problem)), problem.dtype);
    draw(weight_, of.weight, element_count(weight_shape(problem)), problem.dtype);
    draw(bias_, of.bias, bias_count(problem), problem.dtype);
    if (separable) draw(pointwise_, of.pointwise_weight, element_count(pointwise_weight_shape(problem)), problem.dtype);
    draw(pointwise_bias_, of.pointwise_bias, pointwise_bias_count(problem), problem.dtype);
    if (problem.residual) draw(residual_, of.residual, element_count(output_shape(problem)), problem.out_dtype);
  }

  [[nodiscard]] Operands operands() const {
    return {.input = input_,
            .weight = weight_,
            .bias = bias_,
            .pointwise_weight = pointwise_,
            .pointwise_bias = pointwise_bias_,
            .residual = residual_};
  }

 private:
  // Not the standard distributions: their sequences differ between standard libraries.
  double unit() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

  double draw(const Distribution& distribution) {
    if (unit() >= distribution.density) return 0;
    if (distribution.shape == Distribution::Shape::uniform)
      return distribution.first + (distribution.second - distribution.first) * unit();
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    return distribution.first + distribution.second * radius * std::cos(2 * std::numbers::pi * unit());
  }

  void draw(std::vector<std::byte>& tensor, const Distribution& distribution, std::int64_t count, DType dtype) {
    tensor.resize(static_cast<std::size_t>(count) * element_bytes(dtype));
    for (std::int64_t i = 0; i < count; ++i) store_element(tensor.data(), dtype, i, draw(distribution));
  }

  std::mt19937_64 generator_;
  std::vector<std::byte> input_, weight_, bias_, pointwise_, pointwise_bias_, residual_;
};

/// The sum of x[i] * w[i] as an arithmetic has it: the definition of Accumulation, step by step.
inline float accumulate(const std::vector<float>& x, const std::vector<float>& w, const Arithmetic& arithmetic) {
  const auto count = static_cast<std::int64_t>(x.size());
  const std::int64_t block = arithmetic.accumulation == Accumulation::chain ? count : arithmetic.block;
  std::vector<float> sums;
  float running = 0;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    float chain = 0;
    double exact = running;
    for (std::int64_t i = begin; i < std::min(begin + block, count); ++i) {
      const float a = round_operand(x[i], arithmetic.rounding), b = round_operand(w[i], arithmetic.rounding);
      chain = std::fma(a, b, chain);
      exact += static_cast<double>(a) * static_cast<double>(b);
    }
    sums.push_back(chain);
    running = static_cast<float>(exact);
    if (std::abs(static_cast<double>(running)) > std::abs(exact)) running = std::nextafter(running, 0.0f);
  }
  if (arithmetic.accumulation == Accumulation::truncated) return running;
  while (arithmetic.accumulation == Accumulation::pairwise && sums.size() > 1) {
    std::vector<float> pairs;
    for (std::size_t i = 0; i < sums.size(); i += 2)
      pairs.push_back(i + 1 < sums.size() ? sums[i] + sums[i + 1] : sums[i]);
    sums = pairs;
  }
  float sum = 0;
  for (const float each : sums) sum += each;
  return sum;
}

/// All outputs of a problem as `arithmetic` has them, stored. Accumulations other than exact and chain: of pointwise
/// 1-D problems of one image without bias alone.
inline std::vector<double> computed(const Problem& problem, const Operands& operands, const Arithmetic& arithmetic,
                                    const std::vector<OracleOutput>& oracle) {
  std::vector<double> results;
  const bool plain = arithmetic.accumulation == Accumulation::exact || arithmetic.accumulation == Accumulation::chain;
  for (std::size_t i = 0; i < oracle.size() && plain; ++i) {
    results.push_back(round_to(arithmetic.accumulation == Accumulation::exact ? oracle[i].value : oracle[i].sequential,
                               problem.out_dtype));
  }
  if (plain) return results;
  const auto* input = reinterpret_cast<const float*>(operands.input.data());
  const auto* weight = reinterpret_cast<const float*>(operands.weight.data());
  std::vector<float> x(problem.in_channels), w(problem.in_channels);
  for (std::int64_t k = 0; k < problem.out_channels; ++k) {
    std::copy_n(weight + k * problem.in_channels, problem.in_channels, w.begin());
    for (std::int64_t q = 0; q < problem.input[0]; ++q) {
      for (std::int64_t c = 0; c < problem.in_channels; ++c) x[c] = input[c * problem.input[0] + q];
      results.push_back(round_to(accumulate(x, w, arithmetic), problem.out_dtype));
    }
  }
  return results;
}

/// What was measured of differences a - b, over several draws.
struct Measured {
  RootMeanSquare rms, value;
  double largest = 0;  ///< the mean over draws of the largest
  double failing = 0;  ///< share of outputs

  void add(const std::vector<double>& a, const std::vector<double>& b, double atol, double rtol, int draws) {
    double most = 0, failures = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = std::abs(a[i] - b[i]);
      rms.add(difference);
      value.add(b[i]);
      most = std::max(most, difference);
      failures += difference > atol + rtol * std::abs(b[i]);
    }
    largest += most / draws;
    failing += failures / static_cast<double>(a.size()) / draws;
  }
};

}  // namespace tapconv::testing
