#include "cpu/engine.hpp"
#include "engine/convolution_backend.hpp"

namespace tapconv {
namespace {

class CpuBackend final : public ConvolutionBackend {
 public:
  CpuBackend(const Problem& problem, int threads) : convolution_(problem, threads) {}

  [[nodiscard]] std::string implementation() const override { return convolution_.implementation(); }
  void set_weights(const Operands& operands) override {
    convolution_.set_weights({.weight = operands.weight,
                              .bias = operands.bias,
                              .pointwise_weight = operands.pointwise_weight,
                              .pointwise_bias = operands.pointwise_bias});
  }
  void set_sizes(const Problem& problem) override { convolution_.set_sizes(problem.batch, problem.input); }
  void run(std::span<const std::byte> input, std::span<const std::byte> residual,
           std::span<std::byte> output) override {
    convolution_.run(input, residual, output);
  }

 private:
  cpu::Convolution convolution_;
};

}  // namespace

std::unique_ptr<ConvolutionBackend> make_cpu_backend(const Problem& problem, int threads) {
  return std::make_unique<CpuBackend>(problem, threads);
}

}  // namespace tapconv
