#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "oracle/oracle.hpp"
#include "tapconv/diagnosis.hpp"

namespace tapconv {

/// A result and what it was computed from.
struct Evidence {
  const Problem& problem;
  Operands operands;                        ///< on the host
  std::span<const std::byte> output;        ///< whole, dense, in the problem's output type and layout
  std::span<const std::byte> earlier = {};  ///< what an earlier call on other operands left in the output; may be empty
  unsigned char poison = 0xff;              ///< the byte that the output was filled with before the call
  bool poisoned = false;                    ///< whether it was; a given output was not
  std::uint64_t seed = 0;                   ///< of the outputs that are examined
  std::span<const std::int64_t> suspects = {};  ///< linear indices of outputs to examine beside those; may be empty
};

/// Looks for the one deviation from the problem that explains the result: another reading of the weights or the input,
/// other parameters, another place or order, another arithmetic, or a part of the output that was not computed. A
/// deviation is believed if the oracle, deviating so, predicts wrong and right outputs alike. Costs a few passes over
/// the output and some 10^8 products. Throws Error{usage} if a tensor's size or a suspect does not fit the problem.
[[nodiscard]] Diagnosis diagnose(const Evidence& evidence);

}  // namespace tapconv
