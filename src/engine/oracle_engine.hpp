#pragma once

#include "engine/host_tensors.hpp"
#include "engine/session.hpp"

namespace tapconv {

/// The oracle as an engine: any problem, slowly. For float64, which no library here computes.
class OracleEngine final : public Executable {
 public:
  OracleEngine(const Problem& problem, HostTensors& tensors) : problem_(problem), tensors_(tensors) {}

  [[nodiscard]] std::string name() const override { return "oracle"; }
  void run() override;

 private:
  Problem problem_;
  HostTensors& tensors_;
};

}  // namespace tapconv
