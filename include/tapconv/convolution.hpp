#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tapconv/engine.hpp"
#include "tapconv/problem.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {

/// How a caller's tensor was read or written.
enum class Access {
  used,    ///< in place
  copied,  ///< through a copy
};

/// "used" or "copied".
[[nodiscard]] std::string_view name(Access access) noexcept;

/// The weights of a problem, in its type, with any strides; absent where it has none.
struct WeightViews {
  TensorView weight;
  std::optional<TensorView> bias{}, pointwise_weight{}, pointwise_bias{};
};

struct ConvolutionOptions {
  /// Of the CPU engine; 0: all cores, or what OMP_NUM_THREADS says. CUDA devices and float64 take 0 alone. Copies are
  /// made on all cores.
  int threads = 0;
};

/// `problem` with its dynamic dimensions as in `input_shape`, the shape of an input. Throws Error{usage} if a dimension
/// that is not dynamic differs, or if the problem is not valid at these sizes.
[[nodiscard]] Problem with_input_shape(const Problem& problem, std::span<const std::int64_t> input_shape);

/// A convolution that is planned once and run many times. Movable. One object serves one thread at a time; different
/// objects run in parallel.
class Convolution {
 public:
  /// Plans. Throws Error: usage for an invalid problem or number of threads and for a problem that nothing on the
  /// device computes, environment for a device that is not there.
  explicit Convolution(const Problem& problem, const Device& device = {}, const ConvolutionOptions& options = {});
  Convolution(Convolution&&) noexcept;
  Convolution& operator=(Convolution&&) noexcept;
  ~Convolution();

  /// The problem, at the sizes of the last run().
  [[nodiscard]] const Problem& problem() const noexcept;

  /// What computes, for people.
  [[nodiscard]] std::string implementation() const;

  /// Packs the weights, which are not needed afterwards; they serve until the next call. Throws Error{usage} naming a
  /// tensor that is missing or not the problem's, or whose shape, type, strides or data do not fit it; then the weights
  /// of before serve on.
  void set_weights(const WeightViews& weights);

  /// What run() did with its tensors.
  struct Accesses {
    Access input = Access::used, output = Access::used;
    std::optional<Access> residual{};  ///< absent if the problem has none

    friend bool operator==(const Accesses&, const Accesses&) = default;
  };

  /// output = activation(convolution of input + residual), host tensors of any strides, in the problem's types. Dynamic
  /// dimensions are taken from the input. On a CPU a tensor is used in place if it lies dense in the problem's layout
  /// at an address that is a multiple of its elements' size; any other is copied. On a CUDA device every tensor is
  /// copied. Returns when the output is written.
  ///
  /// Throws Error{usage} if no weights are set; for a residual that is missing or not the problem's; for a shape, type,
  /// strides or data that do not fit; for an output two of whose elements share memory; and for an output with any byte
  /// between its first and its last element that lies so in the input or the residual. The output is then untouched.
  Accesses run(const TensorView& input, const MutableTensorView& output,
               const std::optional<TensorView>& residual = std::nullopt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapconv
