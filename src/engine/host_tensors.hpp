#pragma once

#include <cstddef>
#include <vector>

#include "oracle/oracle.hpp"

namespace tapconv {

/// The operands of a session and its output: dense, in the problem's types and layout; empty where it has none.
struct HostTensors {
  explicit HostTensors(const Problem& problem);

  [[nodiscard]] Operands operands() const;

  std::vector<std::byte> input, weight, bias, pointwise_weight, pointwise_bias, residual, output;
};

}  // namespace tapconv
