#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/host_tensors.hpp"

namespace tapconv {

/// Operands of a problem that are integers, so that every sum is one that its arithmetic holds exactly, in any order;
/// see has_exact_sum(). One operand of every product is +-1, or 0 where sums are long. The other one, which alternates
/// with the seed (even: the input), is as precise as its type and the length of the sums allow: float32 13 to 20
/// significant bits, so that TF32 has to round it and three TF32 products have to be added for it. Biases and residuals
/// are no TF32 numbers either. The value between the halves of a depthwise separable problem of 16-bit operands fits
/// their type.
class ExactOperands {
 public:
  ExactOperands(const Problem& problem, std::uint64_t seed);

  HostTensors tensors;

 private:
  void draw(std::vector<std::byte>& tensor, DType dtype, int bits, double keep);

  std::mt19937_64 generator_;
};

/// Whether no order of adding an output's terms, and no rounding before the last one, can change it, given that the
/// operands are integers times `unit`, a power of two.
[[nodiscard]] bool has_exact_sum(const Problem& problem, const OracleOutput& expected, double unit = 1);

/// How far an output may be from an exact sum's: the activation's own error, and half the spacing of 16-bit outputs.
/// 0 for float32 outputs without an activation or with relu.
[[nodiscard]] double exact_tolerance(const Problem& problem, const OracleOutput& expected);

/// The same problem with an activation that is exact on integers.
[[nodiscard]] Problem with_exact_activation(Problem problem);

}  // namespace tapconv
