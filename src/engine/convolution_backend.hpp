#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "oracle/oracle.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// What computes a Convolution, on host tensors that lie dense in the problem's types and layout. Sizes were checked.
class ConvolutionBackend {
 public:
  virtual ~ConvolutionBackend() = default;

  [[nodiscard]] virtual std::string implementation() const = 0;
  /// Whether run() works on the tensors themselves.
  [[nodiscard]] virtual bool in_place() const { return true; }
  /// Keeps its own copy of `operands`, of which the weights and biases are set.
  virtual void set_weights(const Operands& operands) = 0;
  /// The problem at other sizes of its dynamic dimensions; the weights stay.
  virtual void set_sizes(const Problem& problem) = 0;
  virtual void run(std::span<const std::byte> input, std::span<const std::byte> residual,
                   std::span<std::byte> output) = 0;
};

/// The CPU engine; any problem but float64. Throws Error{usage} for a number of threads below 0, Error{environment}
/// where Tapconv was built without it.
[[nodiscard]] std::unique_ptr<ConvolutionBackend> make_cpu_backend(const Problem& problem, int threads);

/// The oracle; any problem, slowly.
[[nodiscard]] std::unique_ptr<ConvolutionBackend> make_oracle_backend(const Problem& problem);

/// The plan of a CUDA device, one for every size, between an upload and a download.
[[nodiscard]] std::unique_ptr<ConvolutionBackend> make_cuda_backend(const Problem& problem, int device);

}  // namespace tapconv
