#pragma once

#include "cpu/plain_stage.hpp"

namespace tapconv::cpu {

/// A depthwise separable convolution: its two halves, with binary32 between them.
class SeparableStage final : public Stage {
 public:
  SeparableStage(const Problem& problem, int threads, bool padding_multiplied);

  [[nodiscard]] std::string implementation() const override;
  void set_weights(const Weights& weights) override;
  void run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) override;

 private:
  DType dtype_;
  std::int64_t between_;  ///< number of elements between the halves
  std::unique_ptr<PlainStage> depthwise_, pointwise_;
};

}  // namespace tapconv::cpu
