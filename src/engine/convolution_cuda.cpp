#include "engine/convolution_backend.hpp"
#include "plan/cuda_plan.hpp"

namespace tapconv {
namespace {

class CudaBackend final : public ConvolutionBackend {
 public:
  CudaBackend(const Problem& problem, int device)
      : context_(cuda::Context::get(device)), plan_(problem, context_), stream_(context_), sized_(problem) {}

  [[nodiscard]] std::string implementation() const override { return plan_.solver(); }
  [[nodiscard]] bool in_place() const override { return false; }

  void set_weights(const Operands& operands) override {
    cuda::Buffer weight = uploaded(operands.weight), bias = uploaded(operands.bias);
    cuda::Buffer pointwise_weight = uploaded(operands.pointwise_weight),
                 pointwise_bias = uploaded(operands.pointwise_bias);
    weight_ = std::move(weight);
    bias_ = std::move(bias);
    pointwise_weight_ = std::move(pointwise_weight);
    pointwise_bias_ = std::move(pointwise_bias);
  }

  void set_sizes(const Problem& problem) override { sized_ = problem; }

  void run(std::span<const std::byte> input, std::span<const std::byte> residual,
           std::span<std::byte> output) override {
    grow(input_, input.size());
    grow(residual_, residual.size());
    grow(output_, output.size());
    grow(workspace_, plan_.workspace_bytes(sized_));
    input_.upload(input);
    residual_.upload(residual);
    plan_.run(sized_,
              {.input = input_.as(),
               .weight = weight_.as(),
               .bias = bias_.as(),
               .pointwise_weight = pointwise_weight_.as(),
               .pointwise_bias = pointwise_bias_.as(),
               .residual = residual_.as(),
               .output = output_.as()},
              nullptr, workspace_.as(), stream_.handle());
    stream_.synchronize();
    output_.download(output);
  }

 private:
  [[nodiscard]] cuda::Buffer uploaded(std::span<const std::byte> operand) const {
    cuda::Buffer buffer(context_, operand.size());
    buffer.upload(operand);
    return buffer;
  }

  /// Kept from call to call; what was in it is lost where it grows.
  void grow(cuda::Buffer& buffer, std::size_t bytes) const {
    if (buffer.bytes() >= bytes) return;
    buffer = {};  // the old one goes first, so that both need not fit
    buffer = cuda::Buffer(context_, bytes);
  }

  const cuda::Context& context_;
  const CudaPlan plan_;
  const cuda::Stream stream_;
  Problem sized_;
  cuda::Buffer weight_, bias_, pointwise_weight_, pointwise_bias_;
  cuda::Buffer input_, residual_, output_, workspace_;
};

}  // namespace

std::unique_ptr<ConvolutionBackend> make_cuda_backend(const Problem& problem, int device) {
  return std::make_unique<CudaBackend>(problem, device);
}

}  // namespace tapconv
