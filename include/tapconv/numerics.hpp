#pragma once

#include <cstdint>
#include <string_view>

#include "tapconv/dtype.hpp"

namespace tapconv {

/// What the sum of an output promises, against an fp64 sum over the operands as the contract rounds them. K is the
/// number of terms that are not zero (products, and the residual), S the sum of |x*w| plus |bias| plus |residual|.
enum class Contract {
  ieee,  ///< binary32 fused multiply-add only: |y - y64| <= (K+1) 2^-24 S + K 2^-149
  fp32,  ///< binary32 accuracy by any means:   |y - y64| <= (K+9) 2^-24 S + K 2^-149
  tf32,  ///< operands rounded to TF32:         |y - y64| <= (K+1) 2^-23 S + K 2^-149
  fp16,  ///< on float16 operands:              as tf32
  bf16,  ///< on bfloat16 operands:             as tf32
  fp64,  ///< on float64 operands:              |y - y64| <= (K+1) 2^-53 S + K 2^-1074
};

/// Every contract, in declaration order.
inline constexpr Contract all_contracts[] = {Contract::ieee, Contract::fp32, Contract::tf32,
                                             Contract::fp16, Contract::bf16, Contract::fp64};

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

/// What is done to the sum of an output.
enum class Activation {
  none,
  relu,        ///< max(v, 0); NaN stays NaN
  leaky_relu,  ///< v if v > 0, else negative_slope * v
  silu,        ///< v / (1 + exp(-v))
  gelu,        ///< v * Phi(v), Phi the normal distribution function
  gelu_tanh,   ///< v/2 * (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3)))
};

/// Every activation, in declaration order.
inline constexpr Activation all_activations[] = {Activation::none, Activation::relu, Activation::leaky_relu,
                                                 Activation::silu, Activation::gelu, Activation::gelu_tanh};

/// The spelling of each value: "ieee", "fp32", ...; "rna", "rn"; "exact", "tf32-rna", ...; "none", "relu", ...
[[nodiscard]] std::string_view name(Contract contract) noexcept;
[[nodiscard]] std::string_view name(TieRule rule) noexcept;
[[nodiscard]] std::string_view name(OperandRounding rounding) noexcept;
[[nodiscard]] std::string_view name(Activation activation) noexcept;

/// The contract of a problem on tensors of `dtype` that names none: fp32, fp16, bf16, fp64.
[[nodiscard]] Contract default_contract(DType dtype) noexcept;

/// Whether `contract` can be asked for on tensors of `dtype`: the default, for float32 also ieee and tf32, for 16-bit
/// types also ieee and fp32.
[[nodiscard]] bool applies_to(Contract contract, DType dtype) noexcept;

/// The rounding that a contract applies to both operands.
[[nodiscard]] OperandRounding operand_rounding(Contract contract, TieRule rule) noexcept;

/// `value` rounded as `rounding` says. NaN stays NaN and infinities stay infinite; a finite value
/// beyond the target's range becomes infinite (TF32 and bf16 under rz excepted: never).
[[nodiscard]] float round_operand(float value, OperandRounding rounding) noexcept;

/// The largest |y - y64| of a sum that `contract` allows with `products` non-zero terms and sum of magnitudes
/// `magnitude` (K and S above; S is in the units of the output).
[[nodiscard]] double error_bound(Contract contract, std::int64_t products, double magnitude) noexcept;

/// `activation` of `value`, in fp64 to a few ulp. `negative_slope` is that of leaky_relu.
[[nodiscard]] double activate(Activation activation, double value, double negative_slope) noexcept;

/// The largest distance from activate(y64), y64 = `sum`, that an output may have whose sum has an error of at most
/// `sum_error`: the activation's greatest slope times `sum_error`, plus its own error, 2^-21 |y64| (leaky_relu: 2^-23
/// times its own slope; none and relu: nothing).
[[nodiscard]] double activated_error(Activation activation, double sum, double sum_error,
                                     double negative_slope) noexcept;

}  // namespace tapconv
