#pragma once

#include <cstdint>
#include <string_view>

namespace tapconv {

/// What a result promises, per output element, against an fp64 sum over the operands as the contract
/// rounds them. K is the number of products that are not zero, S the sum of |x*w| plus |bias|.
enum class Contract {
  ieee,  ///< binary32 fused multiply-add only: |y - y64| <= (K+1) 2^-24 S + K 2^-149
  fp32,  ///< binary32 accuracy by any means:   |y - y64| <= (K+9) 2^-24 S + K 2^-149
  tf32,  ///< operands rounded to TF32:         |y - y64| <= (K+1) 2^-23 S + K 2^-149
};

/// How a rounding to nearest breaks ties.
enum class TieRule {
  away,  ///< to the larger magnitude ("rna")
  even,  ///< to the even significand ("rn")
};

/// What is done to an operand before it is multiplied.
enum class OperandRounding { exact, tf32_rna, tf32_rn, tf32_rz, bf16, fp16 };

/// Every rounding, in declaration order.
inline constexpr OperandRounding all_operand_roundings[] = {OperandRounding::exact,   OperandRounding::tf32_rna,
                                                            OperandRounding::tf32_rn, OperandRounding::tf32_rz,
                                                            OperandRounding::bf16,    OperandRounding::fp16};

/// The spelling of each value: "ieee", "fp32", "tf32"; "rna", "rn"; "exact", "tf32-rna", ...
[[nodiscard]] std::string_view name(Contract contract) noexcept;
[[nodiscard]] std::string_view name(TieRule rule) noexcept;
[[nodiscard]] std::string_view name(OperandRounding rounding) noexcept;

/// The rounding that a contract applies to both operands.
[[nodiscard]] OperandRounding operand_rounding(Contract contract, TieRule rule) noexcept;

/// `value` rounded as `rounding` says. NaN stays NaN and infinities stay infinite; a finite value
/// beyond the target's range becomes infinite (TF32 and bf16 under rz excepted: never).
[[nodiscard]] float round_operand(float value, OperandRounding rounding) noexcept;

/// The largest |y - y64| that `contract` allows an output with `products` non-zero products and sum
/// of magnitudes `magnitude` (K and S above; S is in the units of the output).
[[nodiscard]] double error_bound(Contract contract, std::int64_t products, double magnitude) noexcept;

}  // namespace tapconv
