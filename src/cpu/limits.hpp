#pragma once

#include "cpu/engine.hpp"

namespace tapconv::cpu {

/// Throws Error{usage} naming the tensor whose size in bytes is not the problem's.
void check_weights(const Problem& problem, const Weights& weights);

/// Bytes of the tensors of a problem, counted once: small problems are computed in microseconds.
struct TensorBytes {
  explicit TensorBytes(const Problem& problem);

  /// Throws Error{usage} naming the tensor whose size is another.
  void check(std::span<const std::byte> given_input, std::span<const std::byte> given_residual,
             std::span<const std::byte> given_output) const;

  std::size_t input, residual, output;
};

/// Throws Error{usage} if a tensor of a plain problem is beyond what oneDNN computes reliably: some of its
/// implementations hold offsets within an image in 32 bits.
void check_limits(const Problem& problem);

}  // namespace tapconv::cpu
