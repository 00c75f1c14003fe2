#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "cpu/engine.hpp"
#include "oracle/statistics.hpp"
#include "problem/element_places.hpp"

namespace tapconv::testing {

using Bytes = std::vector<std::byte>;

/// What tensors are filled with.
enum class Fill {
  uniform,    ///< full significands in [-1, 1)
  sparse,     ///< the same, 19 in 20 are zero
  integers,   ///< small, so that every sum is exact
  subnormal,  ///< inputs, biases and residuals that are subnormal, or whose products are
};

/// The operands of a problem, dense in its types and layout.
struct CpuTensors {
  Bytes input, weight, bias, pointwise_weight, pointwise_bias, residual;

  [[nodiscard]] cpu::Weights weights() const {
    return {.weight = weight, .bias = bias, .pointwise_weight = pointwise_weight, .pointwise_bias = pointwise_bias};
  }
  [[nodiscard]] Operands operands() const {
    return {.input = input,
            .weight = weight,
            .bias = bias,
            .pointwise_weight = pointwise_weight,
            .pointwise_bias = pointwise_bias,
            .residual = residual};
  }
};

class CpuFiller {
 public:
  CpuFiller(std::uint64_t seed, Fill fill) : generator_(seed), fill_(fill) {}

  Bytes operator()(std::int64_t count, DType dtype, double scale = 1) {
    Bytes bytes(static_cast<std::size_t>(count) * element_bytes(dtype));
    for (std::int64_t i = 0; i < count; ++i) store_element(bytes.data(), dtype, i, scale * draw());
    return bytes;
  }

 private:
  double draw() {
    const double value = static_cast<double>(generator_() >> 11) * 0x1p-52 - 1;
    if (fill_ == Fill::sparse && generator_() % 20 != 0) return 0;
    return fill_ == Fill::integers ? std::round(value * 3) : value;
  }

  std::mt19937_64 generator_;
  Fill fill_;
};

inline CpuTensors draw_tensors(const Problem& p, std::uint64_t seed, Fill fill = Fill::uniform) {
  CpuFiller filler(seed, fill);
  const bool separable = p.kind == Kind::depthwise_separable, tiny = fill == Fill::subnormal;
  // A type's subnormals lie about 2^-126 (float16: 2^-14); with weights of about 1 so do the products.
  const double small = !tiny ? 1 : p.dtype == DType::float16 ? 0x1p-16 : 0x1p-130;
  CpuTensors t;
  t.input = filler(element_count(input_shape(p)), p.dtype, small);
  t.weight = filler(element_count(weight_shape(p)), p.dtype);
  t.bias = filler(bias_count(p), p.dtype, small);
  t.pointwise_weight = filler(separable ? element_count(pointwise_weight_shape(p)) : 0, p.dtype);
  t.pointwise_bias = filler(pointwise_bias_count(p), p.dtype, small);
  t.residual = filler(p.residual ? element_count(output_shape(p)) : 0, p.out_dtype, small);
  return t;
}

/// Runs anything with set_weights() and run() into an output between two guard zones, at an address that is a multiple
/// of its elements' size only.
template <class Runner>
Bytes run_guarded(Runner& runner, const Problem& problem, const CpuTensors& tensors) {
  const std::size_t guard = 33 * element_bytes(problem.out_dtype);
  constexpr std::byte untouched{0x5a};
  const std::size_t size =
      static_cast<std::size_t>(element_count(output_shape(problem))) * element_bytes(problem.out_dtype);
  Bytes output(size + 2 * guard, untouched);
  runner.run(tensors.input, tensors.residual, std::span(output).subspan(guard, size));
  const auto intact = [&](std::size_t begin) {
    return std::all_of(output.data() + begin, output.data() + begin + guard,
                       [](std::byte value) { return value == untouched; });
  };
  EXPECT_TRUE(intact(0)) << "written before the output";
  EXPECT_TRUE(intact(size + guard)) << "written behind the output";
  return {output.data() + guard, output.data() + guard + size};
}

inline Bytes compute(const Problem& problem, const CpuTensors& tensors, int threads = 0) {
  cpu::Convolution convolution(problem, threads);
  convolution.set_weights(tensors.weights());
  return run_guarded(convolution, problem, tensors);
}

/// Outputs in the order of their indices.
inline std::vector<double> values_of(const Problem& problem, const Bytes& output) {
  const ElementPlaces place(output_shape(problem), problem.layout);
  std::vector<double> values(static_cast<std::size_t>(element_count(output_shape(problem))));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = load_element(output.data(), problem.out_dtype, place(static_cast<std::int64_t>(i)));
  return values;
}

inline std::vector<OracleOutput> expected_outputs(const Problem& problem, const CpuTensors& tensors) {
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(element_count(output_shape(problem))));
  std::iota(outputs.begin(), outputs.end(), 0);
  return oracle(problem, tensors.operands(), outputs, operand_rounding(problem.contract, problem.tie_rule));
}

/// Whether every output keeps the problem's contract.
inline ::testing::AssertionResult keeps_contract(const Problem& problem, const CpuTensors& tensors,
                                                 const Bytes& output) {
  const std::vector<OracleOutput> expected = expected_outputs(problem, tensors);
  std::vector<std::int64_t> outputs(expected.size());
  std::iota(outputs.begin(), outputs.end(), 0);
  ErrorStatistics statistics(problem);
  statistics.add(outputs, values_of(problem, output), expected);
  if (statistics.violations() == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << spell(problem) << ": " << statistics.violations() << " violations, the worst "
                                       << statistics.worst_ratio() << " bounds at " << statistics.worst_output() << ": "
                                       << statistics.worst_actual() << " for " << statistics.worst_expected();
}

/// The same, computed here.
inline ::testing::AssertionResult keeps_contract(const Problem& problem, const CpuTensors& tensors) {
  auto result = keeps_contract(problem, tensors, compute(problem, tensors));
  return result ? result : result << ", by " << cpu::Convolution(problem).implementation();
}

inline void set_value(Bytes& tensor, DType dtype, std::size_t index, double value) {
  store_element(tensor.data(), dtype, static_cast<std::int64_t>(index), value);
}

inline std::size_t size_of(const Bytes& tensor, DType dtype) { return tensor.size() / element_bytes(dtype); }

/// On all kinds of data, and equal where every sum is exact.
inline void expect_right(const Problem& problem, std::uint64_t seed) {
  cpu::Convolution convolution(problem, 1);
  for (const Fill fill : {Fill::uniform, Fill::sparse, Fill::subnormal, Fill::integers}) {
    const CpuTensors tensors = draw_tensors(problem, seed, fill);
    convolution.set_weights(tensors.weights());
    const Bytes output = run_guarded(convolution, problem, tensors);
    EXPECT_TRUE(keeps_contract(problem, tensors, output))
        << "fill " << static_cast<int>(fill) << ", by " << convolution.implementation();
    if (fill != Fill::integers || problem.activation > Activation::relu) continue;
    const std::vector<double> values = values_of(problem, output);
    const std::vector<OracleOutput> expected = expected_outputs(problem, tensors);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], round_to(expected[i].value, problem.out_dtype)) << i;
  }
}

/// With infinite and NaN inputs and weights.
inline void expect_special_values_right(const Problem& problem, std::uint64_t seed) {
  cpu::Convolution convolution(problem, 1);
  const DType dtype = problem.dtype;
  CpuTensors tensors = draw_tensors(problem, seed);
  set_value(tensors.input, dtype, 0, std::numeric_limits<double>::infinity());
  set_value(tensors.input, dtype, size_of(tensors.input, dtype) / 2, std::numeric_limits<double>::quiet_NaN());
  set_value(tensors.input, dtype, size_of(tensors.input, dtype) - 1, -std::numeric_limits<double>::infinity());
  convolution.set_weights(tensors.weights());
  EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors))) << "inputs";
  for (const double special : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t place : {std::size_t{0}, size_of(tensors.weight, dtype) - 1}) {
      tensors = draw_tensors(problem, seed + place);
      set_value(tensors.weight, dtype, place, special);
      convolution.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors)))
          << "weight " << place << " is " << special;
    }
  }
}

}  // namespace tapconv::testing
