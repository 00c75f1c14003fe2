#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "tapconv/problem.hpp"

namespace tapconv::cpu {

/// How the tensors lie that oneDNN computes on. The caller's are contiguous: anything else costs a reorder of each.
enum class Arrangement {
  preferred,      ///< as oneDNN likes best
  contiguous,     ///< as the caller has them
  channels_last,  ///< (N, spatial..., C)
};

/// What oneDNN would run. Threads count: describe and run under the same ThreadScope. Throws dnnl::error.
struct Description {
  dnnl::engine engine;  ///< kept here: oneDNN's descriptions and primitives do not keep theirs alive
  dnnl::convolution_forward::primitive_desc convolution;
};
[[nodiscard]] Description describe(const Problem& problem, Arrangement arrangement);

/// The contiguous tensor of the same shape as `desc`.
[[nodiscard]] dnnl::memory::desc contiguous(const dnnl::memory::desc& desc);

/// Whether oneDNN works on the caller's tensors themselves.
[[nodiscard]] bool in_place(const Description& description);

/// Whether oneDNN has only its plain loops for this, orders of magnitude slower than anything else.
[[nodiscard]] bool is_naive(const Description& description);

/// The description that is fastest for contiguous tensors, by a rule on the shapes alone.
[[nodiscard]] Description choose(const Problem& problem);

}  // namespace tapconv::cpu
