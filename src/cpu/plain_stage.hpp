#pragma once

#include <optional>

#include "cpu/epilogue.hpp"
#include "cpu/input_copy.hpp"
#include "cpu/primitive.hpp"
#include "cpu/stage.hpp"

namespace tapconv::cpu {

/// A convolution, or a transposed one that oneDNN's deconvolution takes: one primitive, before it a copy of the input
/// where something has to be done to it that oneDNN does not do, behind it what is left of the epilogue.
class PlainStage final : public Stage {
 public:
  /// Nothing for a transposed problem that oneDNN does not compute well. Throws Error{environment} for a convolution
  /// that it refuses.
  static std::unique_ptr<PlainStage> plan(const Problem& problem, int threads, bool padding_multiplied);

  [[nodiscard]] std::string implementation() const override;
  void set_weights(const Weights& weights) override;
  /// In binary32, in the problem's layout; already rounded. `bias` is null for a problem without.
  void set_weights(const float* weight, const float* bias) { primitive_.set_weights(weight, bias); }
  void run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) override;

 private:
  PlainStage(const Problem& problem, int threads, std::optional<InputCopy> copy, const Request& request,
             const Description& description);

  Problem problem_;
  int threads_;
  std::optional<InputCopy> copy_;
  Primitive primitive_;
  bool residual_by_primitive_;
  Epilogue rest_;
  std::int64_t outputs_;
};

}  // namespace tapconv::cpu
