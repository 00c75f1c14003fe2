#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cudnn.hpp"
#include "cuda/cudnn_descriptor.hpp"

namespace tapconv::cuda::cudnn {

/// Sizes of a tensor, batch and channels first, and the distance in elements of neighbours along each.
struct TensorLayout {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

/// A problem as cuDNN sees it: 2-D or 3-D. Of a transposed convolution the input is the gradient dy of a forward one,
/// the output its dx, and the weight (C, K/groups, ...) its filter.
struct ConvolutionLayout {
  TensorLayout input, weight, bias, output;
  std::vector<std::int64_t> padding_lo, stride, dilation;
  /// The end of an axis says only how long the other tensor is. Of the values that say so it is the one nearest to
  /// padding_lo: more engines take equal sides.
  std::vector<std::int64_t> padding_hi;
};

/// Why cuDNN's convolutions cannot express the problem, as a sentence; empty if they can.
[[nodiscard]] std::string refusal(const Problem& problem);

[[nodiscard]] ConvolutionLayout convolution_layout(const Problem& problem, const CudnnChoice& choice);

/// What engines are chosen for: a device through its handle or, from cuDNN 9.8 on, its properties alone.
struct Target {
  Handle handle = nullptr;
  std::shared_ptr<const Descriptor> properties;  ///< used where there is no handle

  /// A device that need not be present, by cuDNN's JSON text of its properties.
  static Target described(std::string_view json);
};

/// What the address of every tensor must be a multiple of.
inline constexpr std::int64_t byte_alignment = 16;

/// The operation graph of one convolution (forward, or for a transposed one backward-data), with the addition of a bias
/// if the problem has one.
class Graph {
 public:
  Graph(const Target& target, const Problem& problem, const CudnnChoice& choice);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] bool adds_bias() const noexcept { return adds_bias_; }
  [[nodiscard]] const Descriptor& descriptor() const noexcept { return parts_.back(); }

 private:
  std::deque<Descriptor> parts_;  ///< each refers only to earlier ones; the operation graph is last
  bool adds_bias_;
};

/// One engine configuration that heuristics offer.
struct Offer {
  Descriptor configuration;
  std::string name;
  CudnnHeuristic heuristic;
  CudnnNotes notes;
};

/// What modes A, B and fallback offer for `graph`, in this order, without duplicates. A mode that does not support the
/// graph offers nothing.
[[nodiscard]] std::vector<Offer> offers(const Target& target, const Graph& graph);

/// Whether an engine with these notes computes as `choice` allows; see Cudnn::plans().
[[nodiscard]] bool allowed(const CudnnNotes& notes, const CudnnChoice& choice) noexcept;

/// The execution plan of `configuration`, finalised.
[[nodiscard]] Descriptor execution_plan(const Target& target, const Descriptor& configuration);

/// Where one call finds its tensors, in device memory.
struct Pointers {
  void *input, *weight, *bias, *output, *workspace;

  friend bool operator==(const Pointers&, const Pointers&) = default;
};

/// The variant pack of a Graph that adds a bias or not, finalised; without one, `bias` is ignored.
[[nodiscard]] Descriptor variant_pack(const Pointers& pointers, bool adds_bias);

}  // namespace tapconv::cuda::cudnn
