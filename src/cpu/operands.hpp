#pragma once

#include <span>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::cpu {

/// Throws Error{usage} naming the tensor whose size is not the problem's. No bias is an empty one.
void check_weights(const Problem& problem, std::span<const float> weight, std::span<const float> bias);
void check_tensors(const Problem& problem, std::span<const float> input, std::span<const float> output);

/// Throws Error{usage} if a tensor is beyond what oneDNN computes reliably: some of its implementations hold offsets
/// within an image in 32 bits.
void check_limits(const Problem& problem);

[[nodiscard]] bool has_padding(const Problem& problem);

/// The same convolution on an input that already holds the zeros of the padding.
[[nodiscard]] Problem without_padding(const Problem& problem);

/// The inputs of a problem, each rounded, with the zeros of the padding around them: a copy that is refilled for every
/// input.
class PaddedInput {
 public:
  /// With `pad` false the copy has no zeros around it.
  PaddedInput(const Problem& problem, bool pad);

  [[nodiscard]] std::span<const float> fill(std::span<const float> input, OperandRounding rounding, int threads);

 private:
  Problem problem_;
  Extent origin_{0, 0, 0};  ///< of the input in the copy, D H W
  Extent inner_{1, 1, 1};   ///< size of the input, D H W
  Extent outer_{1, 1, 1};   ///< size of the copy, D H W
  std::vector<float> copy_;
};

}  // namespace tapconv::cpu
