#include "workbench/exact_operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tapconv {
namespace {

/// Significant bits: of the precise operand, and what the sum may grow to.
struct Bits {
  int least, most, sum;
};

Bits bits_of(const Problem& problem) {
  // A slope of leaky_relu, of up to three bits, has to be multiplied exactly too.
  const int slope = problem.activation == Activation::leaky_relu ? 3 : 0;
  switch (problem.dtype) {
    case DType::float32:
      return {13, 20, 23 - slope};
    case DType::float16:
      return {8, 11, 23 - slope};
    case DType::bfloat16:
      return {8, 8, 23 - slope};
    case DType::float64:
      return {30, 30, 50};
  }
  return {};
}

/// Smallest n with value <= 2^n.
int width(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value - 1))); }

}  // namespace

ExactOperands::ExactOperands(const Problem& problem, std::uint64_t seed) : tensors(problem), generator_(seed) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  const std::int64_t taps = problem.kernel[0] * problem.kernel[1] * problem.kernel[2];
  const std::int64_t first = separable ? taps : taps * (problem.in_channels / problem.groups);
  const std::int64_t all = separable ? first * problem.in_channels * problem.depth_multiplier : first;
  const Bits bits = bits_of(problem);
  const int most =
      separable && element_bytes(problem.dtype) == 2 ? std::max(bits.most - 1 - width(first), 1) : bits.most;
  const int precise = std::clamp(bits.sum - width(all), std::min(bits.least, most), most);
  const double keep = std::min(1.0, std::ldexp(1.0, bits.sum - precise) /
                                        (width(all) > bits.sum - precise ? 2.0 : 1.0) / static_cast<double>(all));
  const bool precise_input = seed % 2 == 0;
  const int bias_bits = std::min(bits.most, 15);
  if (precise_input) {
    draw(tensors.input, problem.dtype, precise, 1);
    draw(tensors.weight, problem.dtype, 1, separable ? 1 : keep);
  } else {
    draw(tensors.input, problem.dtype, 1, separable ? 1 : keep);
    draw(tensors.weight, problem.dtype, precise, 1);
  }
  draw(tensors.bias, problem.dtype, separable ? 3 : bias_bits, 1);
  draw(tensors.pointwise_weight, problem.dtype, 1, keep);
  draw(tensors.pointwise_bias, problem.dtype, bias_bits, 1);
  const int residual_bits = problem.out_dtype == DType::bfloat16 ? 8 : problem.out_dtype == DType::float16 ? 11 : 15;
  draw(tensors.residual, problem.out_dtype, residual_bits, 1);
}

void ExactOperands::draw(std::vector<std::byte>& tensor, DType dtype, int bits, double keep) {
  const auto count = static_cast<std::int64_t>(tensor.size() / element_bytes(dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t random = generator_();
    if (static_cast<double>(random >> 40) >= keep * 0x1p24) {
      store_element(tensor.data(), dtype, i, 0);
      continue;
    }
    const std::uint64_t leading = std::uint64_t{1} << (bits - 1);
    const auto magnitude = static_cast<double>(leading + (random >> 1) % leading);
    store_element(tensor.data(), dtype, i, random % 2 == 0 ? magnitude : -magnitude);
  }
}

bool has_exact_sum(const Problem& problem, const OracleOutput& expected, double unit) {
  if (problem.dtype == DType::float64) return expected.magnitude <= 0x1p53 * unit;
  return expected.magnitude <= (problem.activation == Activation::leaky_relu ? 0x1p21 : 0x1p24) * unit;
}

double exact_tolerance(const Problem& problem, const OracleOutput& expected) {
  const double error = activated_error(problem.activation, expected.sum, 0, problem.negative_slope);
  return element_bytes(problem.out_dtype) == 2 ? error + half_spacing(expected.value, problem.out_dtype) : error;
}

Problem with_exact_activation(Problem problem) {
  if (problem.activation > Activation::leaky_relu) problem.activation = Activation::relu;
  return problem;
}

}  // namespace tapconv
