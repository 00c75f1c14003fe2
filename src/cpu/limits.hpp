#pragma once

#include "cpu/engine.hpp"

namespace tapconv::cpu {

/// Throws Error{usage} naming the tensor whose size in bytes is not the problem's.
void check_weights(const Problem& problem, const Weights& weights);
void check_tensors(const Problem& problem, std::span<const std::byte> input, std::span<const std::byte> residual,
                   std::span<const std::byte> output);

/// Throws Error{usage} if a tensor of a plain problem is beyond what oneDNN computes reliably: some of its
/// implementations hold offsets within an image in 32 bits.
void check_limits(const Problem& problem);

}  // namespace tapconv::cpu
