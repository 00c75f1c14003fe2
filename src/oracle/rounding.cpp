#include "tapconv/shared.cuh"

#include "tapconv/numerics.hpp"

namespace tapconv {

static_assert(static_cast<int>(OperandRounding::exact) == static_cast<int>(shared::Rounding::exact));
static_assert(static_cast<int>(OperandRounding::tf32_rz) == static_cast<int>(shared::Rounding::tf32_rz));
static_assert(static_cast<int>(OperandRounding::fp16) == static_cast<int>(shared::Rounding::fp16));

std::string_view name(Contract contract) noexcept {
  switch (contract) {
    case Contract::ieee:
      return "ieee";
    case Contract::fp32:
      return "fp32";
    case Contract::tf32:
      return "tf32";
    case Contract::fp16:
      return "fp16";
    case Contract::bf16:
      return "bf16";
    case Contract::fp64:
      return "fp64";
  }
  return "?";
}

std::string_view name(Activation activation) noexcept {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::relu:
      return "relu";
    case Activation::leaky_relu:
      return "leaky_relu";
    case Activation::silu:
      return "silu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
  }
  return "?";
}

Contract default_contract(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return Contract::fp32;
    case DType::float16:
      return Contract::fp16;
    case DType::bfloat16:
      return Contract::bf16;
    case DType::float64:
      return Contract::fp64;
  }
  return Contract::fp32;
}

bool applies_to(Contract contract, DType dtype) noexcept {
  if (contract == default_contract(dtype)) return true;
  switch (contract) {
    case Contract::tf32:
      return dtype == DType::float32;
    case Contract::ieee:
    case Contract::fp32:
      return dtype != DType::float64;
    default:
      return false;
  }
}

std::string_view name(TieRule rule) noexcept { return rule == TieRule::away ? "rna" : "rn"; }

std::string_view name(OperandRounding rounding) noexcept {
  switch (rounding) {
    case OperandRounding::exact:
      return "exact";
    case OperandRounding::tf32_rna:
      return "tf32-rna";
    case OperandRounding::tf32_rn:
      return "tf32-rn";
    case OperandRounding::tf32_rz:
      return "tf32-rz";
    case OperandRounding::bf16:
      return "bf16";
    case OperandRounding::fp16:
      return "fp16";
  }
  return "?";
}

OperandRounding operand_rounding(Contract contract, TieRule rule) noexcept {
  if (contract != Contract::tf32) return OperandRounding::exact;
  return rule == TieRule::away ? OperandRounding::tf32_rna : OperandRounding::tf32_rn;
}

float round_operand(float value, OperandRounding rounding) noexcept {
  return shared::round_operand(value, static_cast<shared::Rounding>(rounding));
}

double error_bound(Contract contract, std::int64_t products, double magnitude) noexcept {
  const auto k = static_cast<double>(products);
  switch (contract) {
    case Contract::ieee:
      return (k + 1) * 0x1p-24 * magnitude + k * 0x1p-149;
    case Contract::fp32:
      return (k + 9) * 0x1p-24 * magnitude + k * 0x1p-149;
    case Contract::tf32:
    case Contract::fp16:
    case Contract::bf16:
      return (k + 1) * 0x1p-23 * magnitude + k * 0x1p-149;
    case Contract::fp64:
      return (k + 1) * 0x1p-53 * magnitude + k * 0x1p-1074;
  }
  return 0;
}

}  // namespace tapconv
