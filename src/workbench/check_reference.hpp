#pragma once

#include <memory>
#include <vector>

#include "engine/session.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {

/// The reference beside a result: first both outputs are compared, later the reference is named.
class ReferenceComparison {
 public:
  /// Takes the session's output as the result, then runs the library's default on the same operands. What arithmetic
  /// explains a difference is known only later, so the oracle's sums under every rounding are kept.
  ReferenceComparison(Session& session, const CheckRequest& request);

  /// On the session's operands, which should be full of ties.
  [[nodiscard]] ReferenceVerdict judge();

 private:
  Session& session_;
  std::uint64_t seed_;
  std::unique_ptr<Executable> reference_;
  std::vector<double> own_, theirs_;       // outputs, sampled
  std::vector<std::vector<double>> sums_;  // what they should be, by rounding
  std::vector<double> exact_;              // the same for exact operands, in fp64
};

}  // namespace tapconv
