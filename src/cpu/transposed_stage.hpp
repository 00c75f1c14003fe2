#pragma once

#include <array>
#include <optional>
#include <vector>

#include "cpu/plain_stage.hpp"
#include "problem/lowering.hpp"

namespace tapconv::cpu {

/// A transposed convolution by its residue classes (src/problem/lowering.hpp): each is a convolution of stride 1 of the
/// input with some of the taps in reverse, whose outputs are scattered. Takes any transposed problem.
class TransposedStage final : public Stage {
 public:
  TransposedStage(const Problem& problem, int threads, bool padding_multiplied);

  [[nodiscard]] std::string implementation() const override;
  void set_weights(const Weights& weights) override;
  void run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) override;

 private:
  /// One residue class.
  struct Part {
    TapConvolution lowered;
    Problem problem;
    std::unique_ptr<PlainStage> stage;
  };

  [[nodiscard]] std::vector<float> part_weight(const Part& part, const std::vector<float>& weight) const;
  void fill_with_bias(float* output) const;
  void scatter(const Part& part, const float* values, float* output) const;

  Problem problem_;
  int threads_;
  std::vector<Part> parts_;
  std::optional<InputCopy> copy_;  ///< if the input has to be rounded or converted
  bool reaches_all_;
  std::vector<float> bias_;
  Epilogue epilogue_;
  std::int64_t outputs_;
};

}  // namespace tapconv::cpu
