#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tapconv/problem.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

using shared::OracleOutput;

/// The operands of a problem on the host, contiguous as PyTorch lays them out; `bias` is empty without one.
struct Operands {
  std::span<const float> input, weight, bias;
};

/// What the outputs with linear indices `outputs` should be, in fp64, with both operands (not the bias) rounded
/// first. Positions outside the input hold +0 and take part in the sum: an infinite weight there makes a NaN.
/// Runs on all cores. Throws Error{usage} if a tensor's size or an index does not fit the problem.
[[nodiscard]] std::vector<OracleOutput> oracle(const Problem& problem, const Operands& operands,
                                               std::span<const std::int64_t> outputs, OperandRounding rounding);

/// Ascending linear indices of outputs to examine: all of them if they are at most `count`; else the corners and
/// borders of the output in the first and last image and channels, and about `count` more, one drawn from each of
/// equal parts of the output.
[[nodiscard]] std::vector<std::int64_t> sample_outputs(const Problem& problem, std::int64_t count, std::uint64_t seed);

}  // namespace tapconv
