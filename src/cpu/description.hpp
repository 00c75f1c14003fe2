#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "problem/lowering.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::cpu {

/// How the tensors lie that oneDNN computes on. Anything but the caller's own layout costs a reorder of each.
enum class Arrangement {
  preferred,      ///< as oneDNN likes best
  contiguous,     ///< (N, C, spatial...)
  channels_last,  ///< (N, spatial..., C)
};

/// What oneDNN is asked to compute: a plain problem padded with zeros. Negative padding of a convolution crops.
struct Request {
  Problem problem;
  DType compute = DType::float32;            ///< the type of the operands that oneDNN works on
  DType result = DType::float32;             ///< the type of the tensor that it writes
  bool residual = false;                     ///< added by oneDNN
  Activation activation = Activation::none;  ///< taken by oneDNN
};

/// What oneDNN would run. Threads count: describe and run under the same ThreadScope.
struct Description {
  dnnl::engine engine;  ///< kept here: oneDNN's descriptions and primitives do not keep theirs alive
  dnnl::primitive_desc_base primitive;

  [[nodiscard]] dnnl::memory::desc input() const { return primitive.src_desc(0); }
  [[nodiscard]] dnnl::memory::desc weight() const { return primitive.weights_desc(0); }
  [[nodiscard]] dnnl::memory::desc output() const { return primitive.dst_desc(0); }
  /// Of a request that has it.
  [[nodiscard]] dnnl::memory::desc residual() const {
    return primitive.query_md(dnnl::query::exec_arg_md, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1);
  }
};

/// Nothing if oneDNN does not implement that. Throws dnnl::error for anything else.
[[nodiscard]] std::optional<Description> describe(const Request& request, Arrangement arrangement);

/// The caller's tensors: input and output in the problem's types and layout; the input without what is cropped, which
/// begins `cropped_elements()` after it; the weight in binary32.
[[nodiscard]] dnnl::memory::desc caller_input(const Problem& problem);
[[nodiscard]] dnnl::memory::desc caller_output(const Problem& problem, DType dtype);
[[nodiscard]] dnnl::memory::desc caller_weight(const Problem& problem);
[[nodiscard]] std::int64_t cropped_elements(const Problem& problem);

/// Whether oneDNN's deconvolution takes a transposed problem: no negative padding, steps that it holds in 32 bits.
[[nodiscard]] bool is_deconvolution(const Problem& problem);

/// Whether oneDNN has only its plain loops for this, orders of magnitude slower than anything else.
[[nodiscard]] bool is_naive(const Description& description);

/// The description that is fastest for the caller's tensors, by a rule on the shapes alone; nothing if oneDNN has none
/// but a naive one.
[[nodiscard]] std::optional<Description> choose(const Request& request);

}  // namespace tapconv::cpu
