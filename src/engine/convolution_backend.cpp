#include "engine/convolution_backend.hpp"

#include <vector>

#include "engine/oracle_engine.hpp"

namespace tapconv {
namespace {

/// Weights and biases that outlive the caller's.
class KeptWeights {
 public:
  void assign(const Operands& operands) {
    const auto keep = [](std::vector<std::byte>& kept, std::span<const std::byte> given) {
      kept.assign(given.begin(), given.end());
    };
    keep(weight_, operands.weight);
    keep(bias_, operands.bias);
    keep(pointwise_weight_, operands.pointwise_weight);
    keep(pointwise_bias_, operands.pointwise_bias);
  }

  /// All operands of a call.
  [[nodiscard]] Operands with(std::span<const std::byte> input, std::span<const std::byte> residual) const {
    return {.input = input,
            .weight = weight_,
            .bias = bias_,
            .pointwise_weight = pointwise_weight_,
            .pointwise_bias = pointwise_bias_,
            .residual = residual};
  }

 private:
  std::vector<std::byte> weight_, bias_, pointwise_weight_, pointwise_bias_;
};

class OracleBackend final : public ConvolutionBackend {
 public:
  explicit OracleBackend(const Problem& problem) : problem_(problem) {}

  [[nodiscard]] std::string implementation() const override { return "oracle"; }
  void set_weights(const Operands& operands) override { weights_.assign(operands); }
  void set_sizes(const Problem& problem) override { problem_ = problem; }
  void run(std::span<const std::byte> input, std::span<const std::byte> residual,
           std::span<std::byte> output) override {
    compute_by_oracle(problem_, weights_.with(input, residual), output);
  }

 private:
  Problem problem_;
  KeptWeights weights_;
};

}  // namespace

std::unique_ptr<ConvolutionBackend> make_oracle_backend(const Problem& problem) {
  return std::make_unique<OracleBackend>(problem);
}

}  // namespace tapconv
