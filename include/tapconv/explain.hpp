#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tapconv/engine.hpp"
#include "tapconv/prediction.hpp"

namespace tapconv {

/// Two results agree where |result - reference| <= atol + rtol |reference|.
struct Tolerance {
  double atol = 1e-4, rtol = 1e-4;
};

/// One tensor of a problem.
struct TensorSize {
  std::string name;  ///< "input", "pointwise weight", ...
  std::vector<std::int64_t> shape;
  DType dtype = DType::float32;
  std::int64_t elements = 0, bytes = 0;
};

/// The sums of a plain problem's outputs, in products; those with padding zeros are left out.
struct SumSizes {
  Problem problem;  ///< see stages()
  std::int64_t least = 0, most = 0;
  double mean = 0;  ///< over all outputs
};

/// What to expect of a result that is judged against one reference.
struct ReferenceOutlook {
  std::string label;  ///< of the reference's arithmetic, as ContractOutlook::label
  OperandRounding rounding = OperandRounding::exact;
  PassPrediction pass;  ///< if both sum in binary32, in orders of their own
  /// The share of the outputs that would fail if both summed exactly; absent if the result agrees.
  std::optional<double> operand_share = {};

  /// Whether all outputs pass more likely than not.
  [[nodiscard]] bool agrees() const { return pass.pass_probability >= 0.5; }
};

/// A problem under one contract.
struct ContractOutlook {
  std::string label;  ///< the contract, "tf32" with its tie rule: "tf32-rna", "tf32-rn"
  Contract contract = Contract::fp32;
  TieRule tie_rule = TieRule::away;
  TimeFloor floor;
  /// FLOP a byte from which arithmetic, not memory, decides `reach`; absent where the arithmetic's rate is not known.
  std::optional<double> ridge_flop_per_byte = {};
  ErrorPrediction error;
  std::vector<ReferenceOutlook> against = {};  ///< every reference arithmetic that differs on operands of this type
};

/// What can be said of a problem without computing it.
struct ExplainReport {
  PlanReport plan;                       ///< with the problem, its work, and what each solver would do
  std::vector<TensorSize> tensors = {};  ///< inputs first, the output last
  std::vector<SumSizes> sums = {};       ///< of each plain problem
  double flop_per_byte = 0;              ///< of the least traffic
  Tolerance tolerance = {};
  /// Every contract that the operands' type admits. Floors are those of the device; on a CPU, for comparison, of the
  /// first known device whose `reach` was measured.
  std::vector<ContractOutlook> contracts = {};
  std::vector<std::string> conclusions = {};  ///< sentences
};

/// Plans for the device, as plan() does, and predicts errors on tensors that are drawn from a seed, as
/// predict_error() and predict_pass() do. Throws Error as these do.
[[nodiscard]] ExplainReport explain(const Problem& problem, const Device& device, const Tolerance& tolerance);

}  // namespace tapconv
