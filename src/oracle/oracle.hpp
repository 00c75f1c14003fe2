#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The operands of a problem on the host, in the problem's types and layout, dense; those that the problem does not
/// have are empty.
struct Operands {
  std::span<const std::byte> input, weight, bias;
  std::span<const std::byte> pointwise_weight, pointwise_bias;  ///< of a depthwise separable problem
  std::span<const std::byte> residual;
};

/// All of them, in the order of their declaration.
[[nodiscard]] inline std::array<std::span<const std::byte>, 6> in_order(const Operands& o) {
  return {o.input, o.weight, o.bias, o.pointwise_weight, o.pointwise_bias, o.residual};
}

/// Operands of a plain float32 problem.
[[nodiscard]] inline Operands operands(std::span<const float> input, std::span<const float> weight,
                                       std::span<const float> bias) {
  return {.input = std::as_bytes(input),
          .weight = std::as_bytes(weight),
          .bias = std::as_bytes(bias),
          .pointwise_weight = {},
          .pointwise_bias = {},
          .residual = {}};
}

/// What one output should be. Where the operands are float64 the sums are compensated, so that they are as good as if
/// computed in twice the precision; else products are exact and sums fp64.
struct OracleOutput {
  double value = 0;      ///< activation of the sum, not rounded to the output's type
  double sum = 0;        ///< y64
  double magnitude = 0;  ///< S: |x*w| plus |bias| plus |residual|, of those that are finite
  /// K: how many products, and the residual, are not zero. Depthwise separable: of the pointwise half, plus the
  /// largest of its inputs; S is then the sum of |pointwise weight| * S of its inputs, and so on.
  std::int64_t products = 0;
  /// A chain of binary32 fused multiply-adds (float64: binary64), channels then taps, then bias and residual; activated
  /// and rounded to the output's type.
  double sequential = 0;
  /// Whether S, or that of an input of the pointwise half, exceeds the largest float, so that an intermediate sum in
  /// binary32 may overflow.
  bool may_overflow = false;
};

/// What the outputs with linear indices `outputs` (in order of the logical indices, whatever the layout) should be,
/// with both operands of every product (not bias and residual) rounded first; of a depthwise separable problem those of
/// the pointwise half alone. Positions outside the input that hold zeros take part in the sum as +0: an infinite weight
/// there makes a NaN. Runs on all cores. Throws Error{usage} if a tensor's size or an index does not fit the problem.
[[nodiscard]] std::vector<OracleOutput> oracle(const Problem& problem, const Operands& operands,
                                               std::span<const std::int64_t> outputs, OperandRounding rounding);

/// The largest |stored output - expected.value| that the problem's contract allows: error_bound() of the sum, carried
/// through the activation (activated_error()), plus the rounding to a 16-bit output; nothing if all terms are zero. In
/// a depthwise separable problem two sums follow each other, K grows by 10 for the second's own constant, and the value
/// between them may be rounded: 2^-24 S more (tf32: 2^-10; fp16: 2^-11; bf16: 2^-8; fp64: 2^-53).
[[nodiscard]] double allowed_error(const Problem& problem, const OracleOutput& expected);

/// Ascending linear indices of outputs to examine: all of them if they are at most `count`; else the corners and
/// borders of the output in the first and last image and channels, and about `count` more, one drawn from each of
/// equal parts of the output.
[[nodiscard]] std::vector<std::int64_t> sample_outputs(const Problem& problem, std::int64_t count, std::uint64_t seed);

}  // namespace tapconv
