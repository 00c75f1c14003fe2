#pragma once

#include <cstdint>

#include "tapconv/problem.hpp"

namespace tapconv::cpu {

/// What happens to the sums of a convolution: the residual is added, the activation taken, the result stored in the
/// output's type.
struct Epilogue {
  bool residual = false;
  Activation activation = Activation::none;
  double negative_slope = 0;
  DType dtype = DType::float32;  ///< of the output and the residual

  /// Whether the sums are the outputs.
  [[nodiscard]] bool empty() const { return !residual && activation == Activation::none && dtype == DType::float32; }

  /// output = activation(sum + residual) for `count` elements, all tensors in the same order. `output` may be `sum`.
  void apply(const float* sum, const std::byte* residual_values, std::byte* output, std::int64_t count,
             int threads) const;
};

[[nodiscard]] Epilogue epilogue_of(const Problem& problem);

}  // namespace tapconv::cpu
