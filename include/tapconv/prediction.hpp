#pragma once

#include <cstdint>
#include <string_view>

#include "tapconv/problem.hpp"

namespace tapconv {

/// What the elements of a tensor are drawn from, each on its own.
struct Distribution {
  enum class Shape {
    uniform,  ///< in [first, second)
    normal,   ///< of mean `first` and standard deviation `second`
  };
  Shape shape = Shape::uniform;
  double first = 0, second = 1;
  double density = 1;  ///< the share of elements that are not zero, in (0, 1]

  [[nodiscard]] static Distribution uniform(double low, double high, double density = 1) {
    return {Shape::uniform, low, high, density};
  }
  [[nodiscard]] static Distribution normal(double mean, double deviation, double density = 1) {
    return {Shape::normal, mean, deviation, density};
  }

  friend bool operator==(const Distribution&, const Distribution&) = default;
};

/// Those of a problem's operands; what the problem does not have is ignored.
struct OperandDistributions {
  Distribution input, weight, bias, pointwise_weight, pointwise_bias, residual;
};

/// Those of tensors that are drawn from a seed: input uniform in [0, 1), weights and biases in +-1/sqrt(fan-in), the
/// residual in (-1, 1).
[[nodiscard]] OperandDistributions default_distributions(const Problem& problem);

/// In what steps the products of an output are added; all in binary32, of float64 operands in binary64.
enum class Accumulation {
  exact,      ///< without error, rounded once
  chain,      ///< fused multiply-adds, one product after the other
  blocked,    ///< chains of `block` products, then a chain of their sums
  pairwise,   ///< chains of `block` products, then sums of two neighbours, of four, ...
  truncated,  ///< `block` products at a time without error, then cut off towards zero, as tensor cores do
};

/// "exact", "chain", "blocked", "pairwise", "truncated".
[[nodiscard]] std::string_view name(Accumulation accumulation) noexcept;

/// How a result is computed.
struct Arithmetic {
  OperandRounding rounding = OperandRounding::exact;
  Accumulation accumulation = Accumulation::chain;
  std::int64_t block = 1;  ///< at least 1; of exact and chain: ignored

  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

/// The plainest arithmetic that keeps a contract: its operand rounding, then a chain.
[[nodiscard]] Arithmetic arithmetic_of(Contract contract, TieRule rule) noexcept;

/// What to expect of the outputs as stored, against exact ones on the same tensors.
struct ErrorPrediction {
  double products = 0;            ///< of an output, on average; those with padding are not counted
  double rms_value = 0;           ///< of the exact outputs
  double rms_error = 0;           ///< over outputs and over draws of all operands
  double expected_max_error = 0;  ///< over all outputs
};

/// Predicts by formula, in milliseconds. All operands are random and independent; so are the errors d_i that rounding
/// its operands makes in the n products of an output:
///
///     error = d_1 + ... + d_n + accumulation error,   d_i = x' w' - x w,   x' = x + dx,   dx within half a spacing
///     rms^2 = n Var(d) + (n E(d))^2 + sum over partial sums s of E(spacing(s)^2) / 12 + E(spacing(output)^2) / 12
///
/// The moments of dx and x are taken binade by binade; the last term is that of outputs which are rounded when they are
/// stored. Given an output's partial sums its error is normal; their spread makes the variance vary, which is taken as
/// gamma distributed. The expected maximum is the integral of P(maximum > x) = 1 - (1 - P(|error| > x))^outputs.
/// docs/prediction.md derives it all and says where it is only approximate. Throws Error{usage} for an invalid problem,
/// a distribution that is empty or has a scale outside 2^-60 to 2^60, values beyond a type's range, a block below 1, or
/// a rounding of float64 operands.
[[nodiscard]] ErrorPrediction predict_error(const Problem& problem, const Arithmetic& arithmetic,
                                            const OperandDistributions& distributions);

/// What to expect of the check |a - b| <= atol + rtol |b| of a result a against a reference b, both as stored.
struct PassPrediction {
  double rms_difference = 0;
  double expected_max_difference = 0;  ///< over all outputs
  double failing_share = 0;            ///< the probability that one output fails
  double pass_probability = 0;         ///< that none fails: (1 - failing_share)^outputs
};

/// As predict_error(), of the difference. Operands that both round alike do not differ: then only the accumulation
/// errors do, and these are taken as independent even where both accumulate alike, since the order of the terms is not
/// known; two exact sums of the same operands are equal. Differently rounded ones differ by A(x) - B(x), by cases: to
/// nearest against exact uniform in +-u/2; to zero against exact in (-u, 0]; to nearest against to zero 0 or u with
/// even chances; ties away against ties to even u in one of 2^14 cases (float32 with all its bits random), else 0.
/// failing_share integrates P(|a - b| > atol + rtol |b|) over the normal law of b, with the correlation of a - b and b.
/// Throws Error{usage} as predict_error() does, and for a tolerance that is negative or not finite.
[[nodiscard]] PassPrediction predict_pass(const Problem& problem, const Arithmetic& arithmetic,
                                          const Arithmetic& reference, const OperandDistributions& distributions,
                                          double atol, double rtol);

}  // namespace tapconv
