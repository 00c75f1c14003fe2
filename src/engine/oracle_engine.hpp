#pragma once

#include "engine/host_tensors.hpp"
#include "engine/session.hpp"

namespace tapconv {

/// Writes what the oracle says of every output: dense, in the problem's type and layout.
void compute_by_oracle(const Problem& problem, const Operands& operands, std::span<std::byte> output);

/// The oracle as an engine: any problem, slowly. For float64, which no library here computes.
class OracleEngine final : public Executable {
 public:
  OracleEngine(const Problem& problem, HostTensors& tensors) : problem_(problem), tensors_(tensors) {}

  [[nodiscard]] std::string name() const override { return "oracle"; }
  void run() override { compute_by_oracle(problem_, tensors_.operands(), tensors_.output); }

 private:
  Problem problem_;
  HostTensors& tensors_;
};

}  // namespace tapconv
