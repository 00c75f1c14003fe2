#pragma once

#include <span>
#include <string>
#include <vector>

#include "tapconv/numerics.hpp"

namespace tapconv {

/// How well one hypothesis about the operands' rounding explains a result: the result's residual against the exact
/// sum, regressed on the residual of the exact sum over rounded operands.
struct Hypothesis {
  OperandRounding rounding = OperandRounding::exact;
  double slope = 0;         ///< 1 if the result was computed so
  double correlation = 0;   ///< 1 if the result was computed so
  double rms_distance = 0;  ///< of the result from the exact sum over operands rounded so
};

/// The arithmetic that a result shows.
struct Fingerprint {
  bool known = false;                                 ///< whether a hypothesis explains the result
  OperandRounding rounding = OperandRounding::exact;  ///< the one that does, if known
  bool tie_rule_known = true;                         ///< false: rna and rn explain it equally well
  std::vector<Hypothesis> hypotheses;                 ///< all that were tried
  double noise_rms = 0;                               ///< distances that differ by little more are equal
  /// Whether `rounding` explains the result as well as the best hypothesis does: operands that need no rounding, or no
  /// tie, leave several.
  [[nodiscard]] bool consistent_with(OperandRounding rounding) const;
  /// The other roundings that explain a result on operands of `dtype` as well as `rounding` does, if that is
  /// consistent; without those that `dtype` cannot show, since they round its numbers alike.
  [[nodiscard]] std::vector<OperandRounding> rivals_of(OperandRounding rounding, DType dtype) const;
  /// "tf32-rna", "tf32 (to nearest, tie rule undecided)", "fp32" for exact operands, or "unknown".
  [[nodiscard]] std::string name() const;
};

/// Names the arithmetic of `result`. `sums[r]` holds, for the r-th of all_operand_roundings, the exact sums over
/// operands rounded so, of the same outputs as `result`. `noise_rms` is the RMS error of honest summation in binary32
/// there. Outputs where anything is not finite are passed over.
[[nodiscard]] Fingerprint fingerprint(std::span<const double> result, std::span<const std::vector<double>> sums,
                                      double noise_rms);

}  // namespace tapconv
