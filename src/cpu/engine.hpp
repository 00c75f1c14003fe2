#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::cpu {

class Primitive;
class Workspace;

/// Weights and biases, in the problem's type and layout, dense; empty where the problem has none.
struct Weights {
  std::span<const std::byte> weight, bias, pointwise_weight, pointwise_bias;
};

/// Any problem (float64 excepted) planned for this CPU, on dense tensors in the problem's types and layout. Keeps the
/// problem's contract; an infinite or NaN weight at a position padded with zeros makes the output NaN. Movable; one
/// object serves one thread at a time.
class Convolution {
 public:
  /// Plans by a fixed rule, without measuring. `threads` = 0 is OpenMP's default (all cores, or what OMP_NUM_THREADS
  /// says), and one for a small problem. Throws Error{usage} for a negative number, for float64, and for a problem
  /// beyond what oneDNN computes reliably: an axis longer than 2^30 (padded), an image or a weight of more than 2^31
  /// elements.
  explicit Convolution(const Problem& problem, int threads = 0);
  Convolution(Convolution&&) noexcept;
  Convolution& operator=(Convolution&&) noexcept;
  ~Convolution();

  /// What computes, for people: the implementation that oneDNN chose, the tensors that it works on, and what is done
  /// around it: "brgconv:avx512_core, channels-last tensors", "... after padding by a copy".
  [[nodiscard]] std::string implementation() const;

  /// Packs the weights; they stay until the next call. Throws Error{usage} if a size is not the problem's.
  void set_weights(const Weights& weights);

  /// Other sizes of the problem's dynamic dimensions, for the calls of run() that follow. Plans and packed weights of
  /// the 8 sizes used last are kept, and for a problem with dynamic dimensions a copy of the weights. Throws
  /// Error{usage} for a dimension that is not dynamic and for sizes that make the problem invalid.
  void set_sizes(std::int64_t batch, const Extent& input);

  /// output = activation(convolution of input + residual). Throws Error{usage} if a size is not the problem's or there
  /// are no weights yet.
  void run(std::span<const std::byte> input, std::span<const std::byte> residual, std::span<std::byte> output);

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

/// oneDNN as its own user would drive it in one fixed way, the caller's tensors in and out, reorders included: what
/// benchmarks compare with. On the operands as they are, in the tensors' own types; padded positions are skipped; the
/// epilogue is oneDNN's, with its accuracy.
class Reference {
 public:
  Reference(const Problem& problem, std::unique_ptr<Primitive> primitive);
  Reference(Reference&&) noexcept;
  Reference& operator=(Reference&&) noexcept;
  ~Reference();

  [[nodiscard]] std::string name() const;  ///< as Convolution::implementation()
  /// As those of Convolution.
  void set_weights(const Weights& weights);
  void run(std::span<const std::byte> input, std::span<const std::byte> residual, std::span<std::byte> output);

 private:
  Problem problem_;
  std::unique_ptr<Primitive> primitive_;
  std::unique_ptr<Workspace> workspace_;
};

/// Every different way to drive oneDNN for this problem; its own preference (all layouts left to it) first. The fastest
/// of them is the best that it can do. Throws Error{usage} for a problem that oneDNN does not take by itself: float64,
/// depthwise separable, negative padding, boundaries other than zeros, types that it does not combine.
[[nodiscard]] std::vector<Reference> references(const Problem& problem, int threads = 0);

/// The version of the oneDNN in use: "3.2.0".
[[nodiscard]] std::string version();

}  // namespace tapconv::cpu
