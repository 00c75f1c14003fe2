#include "cpu/description.hpp"

#include <algorithm>
#include <string_view>

#include "problem/text.hpp"

namespace tapconv::cpu {
namespace {

using dnnl::memory;
using Strides = std::array<std::int64_t, 3>;

memory::data_type type_of(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return memory::data_type::f16;
    case DType::bfloat16:
      return memory::data_type::bf16;
    case DType::float32:
      return memory::data_type::f32;
    case DType::float64:
      return memory::data_type::f64;
  }
  return memory::data_type::undef;
}

/// Spatial axes as oneDNN gets them. A 1-D problem is given as 2-D with one row: oneDNN knows more and faster
/// implementations for those.
int leading_axes(const Problem& problem) { return problem.rank == 1 ? 1 : 0; }

/// `front`, then the entries of `extent`; the added axis has `neutral`.
memory::dims dims(const Problem& problem, memory::dims front, const Extent& extent, std::int64_t neutral) {
  front.insert(front.end(), leading_axes(problem), neutral);
  front.insert(front.end(), extent.begin(), extent.begin() + problem.rank);
  return front;
}

/// `front`, then the strides of the spatial axes (D, H, W); the added axis gets that of a whole row.
memory::dims strides(const Problem& problem, memory::dims front, const Strides& axes, std::int64_t row) {
  front.insert(front.end(), leading_axes(problem), axes[2] * row);
  front.insert(front.end(), axes.end() - problem.rank, axes.end());
  return front;
}

memory::desc arrange(const memory::dims& shape, DType dtype, Arrangement arrangement) {
  using tag = memory::format_tag;
  const bool three_axes = shape.size() == 5;
  switch (arrangement) {
    case Arrangement::preferred:
      return {shape, type_of(dtype), tag::any};
    case Arrangement::contiguous:
      return {shape, type_of(dtype), three_axes ? tag::abcde : tag::abcd};
    case Arrangement::channels_last:
      return {shape, type_of(dtype), three_axes ? tag::acdeb : tag::acdb};
  }
  return {};
}

memory::dims filter_front(const Problem& p) {
  const std::int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  return p.groups == 1 ? memory::dims{group_out, group_in} : memory::dims{p.groups, group_out, group_in};
}

/// The input's size without what negative padding crops.
Extent cropped_input(const Problem& p) {
  Extent input = p.input;
  if (p.kind == Kind::transposed) return input;
  for (int axis = 0; axis < max_rank; ++axis)
    input[axis] += std::min<std::int64_t>(p.padding_lo[axis], 0) + std::min<std::int64_t>(p.padding_hi[axis], 0);
  return input;
}

/// Sizes and steps as oneDNN counts them.
struct Geometry {
  memory::dims stride, dilation, padding_lo, padding_hi;
};

Geometry geometry(const Problem& p) {
  Extent stride = p.stride, dilation = p.dilation, lo = p.padding_lo, hi = p.padding_hi;
  for (int axis = 0; axis < max_rank; ++axis) {
    // oneDNN counts the positions between two taps. Steps that are never taken are made small: it holds them in 32
    // bits.
    dilation[axis] = p.kernel[axis] == 1 ? 0 : p.dilation[axis] - 1;
    if (p.kind == Kind::transposed) {
      hi[axis] -= p.output_padding[axis];
    } else {
      lo[axis] = std::max<std::int64_t>(lo[axis], 0);
      hi[axis] = std::max<std::int64_t>(hi[axis], 0);
      stride[axis] = std::min(stride[axis], cropped_input(p)[axis] + lo[axis] + hi[axis]);
    }
  }
  return {dims(p, {}, stride, 1), dims(p, {}, dilation, 0), dims(p, {}, lo, 0), dims(p, {}, hi, 0)};
}

void append_activation(dnnl::post_ops& steps, const Request& request) {
  using dnnl::algorithm;
  switch (request.activation) {
    case Activation::none:
      return;
    case Activation::relu:
      return steps.append_eltwise(algorithm::eltwise_relu, 0, 0);
    case Activation::leaky_relu:
      return steps.append_eltwise(algorithm::eltwise_relu, static_cast<float>(request.problem.negative_slope), 0);
    case Activation::silu:
      return steps.append_eltwise(algorithm::eltwise_swish, 1, 0);
    case Activation::gelu:
      return steps.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
    case Activation::gelu_tanh:
      return steps.append_eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
  }
}

dnnl::primitive_attr attributes(const Request& request, const memory::dims& output, Arrangement arrangement) {
  dnnl::post_ops steps;
  if (request.residual)
    steps.append_binary(dnnl::algorithm::binary_add, arrange(output, request.problem.out_dtype, arrangement));
  append_activation(steps, request);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(steps);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);  // the default could be changed from outside
  return attributes;
}

dnnl::primitive_desc_base describe_primitive(const dnnl::engine& engine, const Request& request,
                                             Arrangement arrangement) {
  const Problem& p = request.problem;
  const memory::dims output_dims = dims(p, {p.batch, p.out_channels}, output_extent(p), 1);
  const memory::desc input =
      arrange(dims(p, {p.batch, p.in_channels}, cropped_input(p), 1), request.compute, arrangement);
  const memory::desc output = arrange(output_dims, request.result, arrangement);
  const memory::desc weight(dims(p, filter_front(p), p.kernel, 1), type_of(request.compute), memory::format_tag::any);
  const memory::desc bias =
      p.bias ? memory::desc({p.out_channels}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
  const Geometry g = geometry(p);
  const dnnl::primitive_attr attr = attributes(request, output_dims, arrangement);
  constexpr auto inference = dnnl::prop_kind::forward_inference;
  if (p.kind == Kind::transposed) {
    return dnnl::deconvolution_forward::primitive_desc(engine, inference, dnnl::algorithm::deconvolution_direct, input,
                                                       weight, bias, output, g.stride, g.dilation, g.padding_lo,
                                                       g.padding_hi, attr);
  }
  return dnnl::convolution_forward::primitive_desc(engine, inference, dnnl::algorithm::convolution_direct, input,
                                                   weight, bias, output, g.stride, g.dilation, g.padding_lo,
                                                   g.padding_hi, attr);
}

double product(const Extent& extent) {
  return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) * static_cast<double>(extent[2]);
}

bool is_pointwise(const Problem& p) {
  const Extent ones{1, 1, 1}, zeros{0, 0, 0};
  return p.kernel == ones && p.stride == ones && p.padding_lo == zeros && p.padding_hi == zeros &&
         p.output_padding == zeros;
}

/// What one image of a convolution costs in elements copied, for contiguous tensors.
struct Copies {
  double gathered;  ///< where oneDNN works on them: the operands of every tap go into a matrix
  double moved;     ///< where it works on another layout: every input and output is reordered
};

Copies copies(const Problem& p) {
  const double inputs = static_cast<double>(p.in_channels) * product(p.input);
  const double outputs = static_cast<double>(p.out_channels) * product(output_extent(p));
  const double met = static_cast<double>(p.in_channels) * product(output_extent(p));
  return {is_pointwise(p) ? 0 : met * product(p.kernel), inputs + outputs};
}

}  // namespace

std::optional<Description> describe(const Request& request, Arrangement arrangement) {
  Description description{dnnl::engine(dnnl::engine::kind::cpu, 0), {}};
  try {
    description.primitive = describe_primitive(description.engine, request, arrangement);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return std::nullopt;
    throw;
  }
  return description;
}

memory::desc caller_input(const Problem& p) {
  const TapStrides lie = lower_channels(p).input;
  const Extent size = cropped_input(p);
  return {dims(p, {p.batch, p.in_channels}, size, 1), type_of(p.dtype),
          strides(p, {lie.outer, lie.inner}, lie.axis, p.input[p.rank - 1])};
}

memory::desc caller_output(const Problem& p, DType dtype) {
  const TapStrides lie = lower_channels(p).output;
  const Extent size = output_extent(p);
  return {dims(p, {p.batch, p.out_channels}, size, 1), type_of(dtype),
          strides(p, {lie.outer, lie.inner}, lie.axis, size[p.rank - 1])};
}

memory::desc caller_weight(const Problem& p) {
  const WeightStrides lie = lower_channels(p).weight;
  memory::dims front{lie.out_channel, lie.in_channel};
  if (p.groups != 1) front.insert(front.begin(), lie.group);
  return {dims(p, filter_front(p), p.kernel, 1), memory::data_type::f32,
          strides(p, front, lie.axis, p.kernel[p.rank - 1])};
}

std::int64_t cropped_elements(const Problem& p) {
  if (p.kind == Kind::transposed) return 0;
  const TapStrides lie = lower_channels(p).input;
  std::int64_t elements = 0;
  for (int axis = 0; axis < p.rank; ++axis)
    elements += std::max<std::int64_t>(-p.padding_lo[axis], 0) * lie.axis[max_rank - p.rank + axis];
  return elements;
}

bool is_deconvolution(const Problem& p) {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  for (int axis = 0; axis < p.rank; ++axis) {
    const std::int64_t lo = p.padding_lo[axis], hi = p.padding_hi[axis] - p.output_padding[axis];
    if (lo < 0 || lo > most || hi > most || p.stride[axis] > most) return false;
    // oneDNN takes this much of a negative padding, which stands for output_padding.
    if (p.padding_hi[axis] < 0 || hi + p.stride[axis] <= 0) return false;
    if (p.kernel[axis] > 1 && p.dilation[axis] > most) return false;
  }
  return p.kind == Kind::transposed;
}

bool is_naive(const Description& description) {
  return std::string_view(description.primitive.impl_info_str()).find("ref") != std::string_view::npos;
}

namespace {

/// The description if it is none of the naive ones.
std::optional<Description> fast(const Request& request, Arrangement arrangement) {
  auto description = describe(request, arrangement);
  return description && !is_naive(*description) ? description : std::nullopt;
}

/// For contiguous tensors.
std::optional<Description> choose_convolution(const Request& request) {
  const auto [gathered, moved] = copies(request.problem);
  if (gathered <= moved) {
    if (auto same = fast(request, Arrangement::contiguous)) return same;
  }
  auto preferred = fast(request, Arrangement::preferred);
  if (!preferred) {
    auto same = fast(request, Arrangement::contiguous);
    return same ? same : fast(request, Arrangement::channels_last);
  }
  // For channel counts per group that fill no block oneDNN prefers to gather; its channels-last kernels are faster,
  // though slower than blocked ones, hence the factor.
  if (preferred->output() == caller_output(request.problem, request.result) && gathered > 2 * moved) {
    if (auto other = fast(request, Arrangement::channels_last)) return other;
  }
  return preferred;
}

/// For contiguous tensors. Of oneDNN's deconvolutions those on its matrix kernels are fastest, then those that gather,
/// but for depthwise ones.
std::optional<Description> choose_deconvolution(const Request& request) {
  const Problem& p = request.problem;
  if (!is_pointwise(p)) {
    auto last = fast(request, Arrangement::channels_last);
    if (last && std::string_view(last->primitive.impl_info_str()).starts_with("brg")) return last;
  }
  const bool depthwise = p.groups > 1 && p.groups == p.in_channels;
  const Arrangement first = depthwise ? Arrangement::preferred : Arrangement::contiguous;
  auto chosen = fast(request, first);
  return chosen ? chosen : fast(request, depthwise ? Arrangement::contiguous : Arrangement::preferred);
}

}  // namespace

std::optional<Description> choose(const Request& request) {
  if (request.problem.layout == Layout::channels_last) {
    auto same = fast(request, Arrangement::channels_last);
    return same ? same : fast(request, Arrangement::preferred);
  }
  return request.problem.kind == Kind::transposed ? choose_deconvolution(request) : choose_convolution(request);
}

}  // namespace tapconv::cpu
