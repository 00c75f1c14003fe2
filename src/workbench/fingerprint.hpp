#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/session.hpp"
#include "tapconv/fingerprint.hpp"

namespace tapconv {

/// How well one hypothesis about the operands' rounding explains a result: the result's residual against the exact
/// sum, regressed on the residual of the exact sum over rounded operands and on the sum itself. The latter takes up
/// what accumulators that truncate do: they shrink every sum by about the same share.
struct Hypothesis {
  OperandRounding rounding = OperandRounding::exact;
  bool possible = true;     ///< false: finite where the result is not, or the other way round
  double slope = 0;         ///< 1 if the result was computed so; 0 of exact operands
  double correlation = 0;   ///< 1 if the result was computed so; 0 of exact operands
  double rms_distance = 0;  ///< of the result from the exact sum over operands rounded so
  bool as_good = false;     ///< the sample does not tell it from the best hypothesis
};

/// The arithmetic that a result shows.
struct Fingerprint {
  bool known = false;                                 ///< whether a hypothesis explains the result
  OperandRounding rounding = OperandRounding::exact;  ///< the one that does, if known
  bool tie_rule_known = true;                         ///< false: rna and rn explain it equally well
  bool binary64 = false;                              ///< the operands are float64, which nothing rounds
  std::vector<Hypothesis> hypotheses;                 ///< all that were tried
  std::int64_t outputs = 0;                           ///< that took part
  double noise_rms = 0;                               ///< RMS error of the oracle's chain over operands rounded so
  Summation summation = Summation::undecided;

  /// Whether `rounding` explains the result as well as the best hypothesis does, or as well as honest summation would:
  /// operands that need no rounding, or no tie, leave several.
  [[nodiscard]] bool consistent_with(OperandRounding rounding) const;
  /// The other roundings that explain a result on operands of `dtype` as well as `rounding` does, if that is
  /// consistent; without those that `dtype` cannot show, since they round its numbers alike.
  [[nodiscard]] std::vector<OperandRounding> rivals_of(OperandRounding rounding, DType dtype) const;
  /// "tf32-rna", "tf32 (to nearest, tie rule undecided)", "fp32" ("fp64") for exact operands, or "unknown".
  [[nodiscard]] std::string name() const;
};

/// What the oracle says of these outputs on the session's operands: for the r-th of all_operand_roundings, over
/// operands rounded so.
[[nodiscard]] std::vector<std::vector<OracleOutput>> hypotheses_of(Session& session,
                                                                   std::span<const std::int64_t> outputs);

/// Names the arithmetic of `result`, outputs of `problem` as stored. `expected` are their hypotheses_of(). Outputs
/// whose exact value is not finite, or may overflow, are passed over. docs/numerics.md has the rules.
[[nodiscard]] Fingerprint fingerprint(const Problem& problem, std::span<const double> result,
                                      std::span<const std::vector<OracleOutput>> expected);

}  // namespace tapconv
