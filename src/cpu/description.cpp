#include "cpu/description.hpp"

#include <algorithm>
#include <string_view>

namespace tapconv::cpu {
namespace {

using dnnl::memory;
constexpr auto float32 = memory::data_type::f32;

/// Spatial axes as oneDNN gets them. A 1-D problem is given as 2-D with one row: oneDNN knows more and faster
/// implementations for those.
int leading_axes(const Problem& problem) { return problem.rank == 1 ? 1 : 0; }

/// `front`, then the entries of `extent`; the added axis has `neutral`.
memory::dims dims(const Problem& problem, memory::dims front, const Extent& extent, std::int64_t neutral) {
  front.insert(front.end(), leading_axes(problem), neutral);
  front.insert(front.end(), extent.begin(), extent.begin() + problem.rank);
  return front;
}

memory::format_tag row_major(std::size_t axes) {
  using tag = memory::format_tag;
  constexpr tag tags[] = {tag::a, tag::ab, tag::abc, tag::abcd, tag::abcde, tag::abcdef};
  return tags[axes - 1];
}

memory::desc arrange(const memory::dims& shape, Arrangement arrangement) {
  using tag = memory::format_tag;
  switch (arrangement) {
    case Arrangement::preferred:
      return {shape, float32, tag::any};
    case Arrangement::contiguous:
      return {shape, float32, row_major(shape.size())};
    case Arrangement::channels_last:
      return {shape, float32, shape.size() == 4 ? tag::acdb : tag::acdeb};
  }
  return {};
}

bool is_pointwise(const Problem& p) {
  const Extent ones{1, 1, 1}, zeros{0, 0, 0};
  return p.kernel == ones && p.stride == ones && p.padding_lo == zeros && p.padding_hi == zeros;
}

double product(const Extent& extent) {
  return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) * static_cast<double>(extent[2]);
}

}  // namespace

Description describe(const Problem& p, Arrangement arrangement) {
  const std::int64_t group_in = p.in_channels / p.groups;
  const memory::dims filter = p.groups == 1 ? memory::dims{p.out_channels, group_in}
                                            : memory::dims{p.groups, p.out_channels / p.groups, group_in};
  const memory::desc input = arrange(dims(p, {p.batch, p.in_channels}, p.input, 1), arrangement);
  const memory::desc output = arrange(dims(p, {p.batch, p.out_channels}, output_extent(p), 1), arrangement);
  const memory::desc weight(dims(p, filter, p.kernel, 1), float32, memory::format_tag::any);
  const memory::desc bias = p.bias ? memory::desc({p.out_channels}, float32, memory::format_tag::a) : memory::desc();
  Extent stride = p.stride, dilation = p.dilation;
  for (int axis = 0; axis < max_rank; ++axis) {
    // oneDNN counts the positions between two taps. Steps that are never taken are made small: it holds them in 32
    // bits.
    dilation[axis] = p.kernel[axis] == 1 ? 0 : p.dilation[axis] - 1;
    stride[axis] = std::min(p.stride[axis], p.input[axis] + p.padding_lo[axis] + p.padding_hi[axis]);
  }

  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // the default could be changed from outside
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::convolution_forward::primitive_desc convolution(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, input, weight, bias, output,
      dims(p, {}, stride, 1), dims(p, {}, dilation, 0), dims(p, {}, p.padding_lo, 0), dims(p, {}, p.padding_hi, 0),
      attributes);
  return {engine, convolution};
}

memory::desc contiguous(const memory::desc& desc) {
  const memory::dims shape = desc.get_dims();
  return {shape, float32, row_major(shape.size())};
}

bool in_place(const Description& description) {
  const memory::desc input = description.convolution.src_desc(), output = description.convolution.dst_desc();
  return input == contiguous(input) && output == contiguous(output);
}

bool is_naive(const Description& description) {
  return std::string_view(description.convolution.impl_info_str()).starts_with("ref");
}

// On contiguous tensors oneDNN gathers the inputs of every tap into a matrix; elsewhere it works on other layouts, and
// the reorders move every input and output once. Whichever copies less wins.
Description choose(const Problem& p) {
  const double outputs = product(output_extent(p));
  const double gathered = is_pointwise(p) ? 0 : static_cast<double>(p.in_channels) * product(p.kernel) * outputs;
  const double moved =
      static_cast<double>(p.in_channels) * product(p.input) + static_cast<double>(p.out_channels) * outputs;
  if (gathered <= moved) {
    Description description = describe(p, Arrangement::contiguous);
    if (!is_naive(description)) return description;
  }
  Description preferred = describe(p, Arrangement::preferred);
  // For channel counts per group that fill no block oneDNN prefers to gather; its channels-last kernels are faster,
  // though slower than blocked ones, hence the factor.
  if (in_place(preferred) && gathered > 2 * moved) {
    Description description = describe(p, Arrangement::channels_last);
    if (!is_naive(description)) return description;
  }
  return preferred;
}

}  // namespace tapconv::cpu
