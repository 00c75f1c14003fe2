#pragma once

#include <memory>
#include <string>

#include "cpu/engine.hpp"
#include "cpu/workspace.hpp"

namespace tapconv::cpu {

/// A problem at fixed sizes, planned. Sizes are not checked.
class Stage {
 public:
  virtual ~Stage() = default;

  /// See Convolution::implementation().
  [[nodiscard]] virtual std::string implementation() const = 0;
  virtual void set_weights(const Weights& weights) = 0;
  /// `residual` is null for a problem without.
  virtual void run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) = 0;
};

/// oneDNN skips positions that padding stands for. With `padding_multiplied` their zeros take part in the sums, as the
/// contract has it: slower, and different only where a weight is infinite or NaN. Throws Error{usage} beyond
/// check_limits().
[[nodiscard]] std::unique_ptr<Stage> make_stage(const Problem& problem, int threads, bool padding_multiplied);

}  // namespace tapconv::cpu
