#include "cuda/cudnn_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace tapconv::cuda::cudnn {
namespace {

using Sizes = std::vector<std::int64_t>;

// By which a variant pack names the tensors of an operation graph. The sum, before the bias, is never in memory.
constexpr std::int64_t input_id = 1, weight_id = 2, bias_id = 3, output_id = 4, sum_id = 5;

/// `sizes` with the axis that cuDNN wants beside the only one of a 1-D problem.
Sizes with_unit_axis(Sizes sizes, const Problem& problem, CudnnRank1 rank1, std::int64_t unit) {
  if (problem.rank == 1) sizes.insert(rank1 == CudnnRank1::height_one ? sizes.end() - 1 : sizes.end(), unit);
  return sizes;
}

Sizes packed_strides(const Sizes& sizes, CudnnLayout layout) {
  std::vector<std::size_t> slowest_first(sizes.size());
  std::iota(slowest_first.begin(), slowest_first.end(), std::size_t{0});
  if (layout == CudnnLayout::channels_last) {
    slowest_first.erase(slowest_first.begin() + 1);
    slowest_first.push_back(1);
  }
  Sizes strides(sizes.size());
  std::int64_t stride = 1;
  for (auto axis = slowest_first.rbegin(); axis != slowest_first.rend(); ++axis) {
    strides[*axis] = stride;
    stride *= sizes[*axis];
  }
  return strides;
}

DataType data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return DataType::float32;
    case DType::float16:
      return DataType::float16;
    case DType::bfloat16:
      return DataType::bfloat16;
    case DType::float64:
      return DataType::float64;
  }
  return DataType::float32;
}

/// The type that sums are kept in.
DataType sum_type(const Problem& problem) {
  return problem.dtype == DType::float64 ? DataType::float64 : DataType::float32;
}

/// What cuDNN is told of the padding at the end of an axis, which is not negative. The position of every output follows
/// from padding_lo alone; all of `least` to `least + stride - 1` say the same lengths.
std::int64_t padding_at_end(const Problem& problem, std::size_t axis) {
  const std::int64_t lo = problem.padding_lo[axis], hi = problem.padding_hi[axis], stride = problem.stride[axis];
  const std::int64_t reach = problem.dilation[axis] * (problem.kernel[axis] - 1) + 1;
  const std::int64_t unused = problem.kind == Kind::transposed ? problem.output_padding[axis]
                                                               : (problem.input[axis] + lo + hi - reach) % stride;
  const std::int64_t least = hi - unused;
  return lo <= least ? least : lo - least < stride ? lo : least + stride - 1;
}

Descriptor tensor(const TensorLayout& layout, DataType type, std::int64_t id, bool is_virtual = false) {
  Descriptor result(DescriptorType::tensor);
  result.set(Attribute::tensor_data_type, type);
  result.set(Attribute::tensor_dimensions, layout.sizes);
  result.set(Attribute::tensor_strides, layout.strides);
  result.set(Attribute::tensor_unique_id, id);
  result.set(Attribute::tensor_byte_alignment, byte_alignment);
  result.set(Attribute::tensor_is_virtual, is_virtual);
  result.finalize();
  return result;
}

Descriptor convolution(const ConvolutionLayout& layout, DataType compute_type) {
  Descriptor result(DescriptorType::convolution);
  result.set(Attribute::convolution_compute_type, compute_type);
  result.set(Attribute::convolution_mode, ConvolutionMode::cross_correlation);
  result.set(Attribute::convolution_spatial_dims, static_cast<std::int64_t>(layout.stride.size()));
  result.set(Attribute::convolution_pre_paddings, layout.padding_lo);
  result.set(Attribute::convolution_post_paddings, layout.padding_hi);
  result.set(Attribute::convolution_filter_strides, layout.stride);
  result.set(Attribute::convolution_dilations, layout.dilation);
  result.finalize();
  return result;
}

/// The attributes of a convolution operation, whose names differ between directions.
struct OperationNames {
  DescriptorType type;
  Attribute convolution, input, weight, output, alpha, beta;
};

constexpr OperationNames forward{
    .type = DescriptorType::operation_convolution_forward,
    .convolution = Attribute::operation_convolution_forward_convolution,
    .input = Attribute::operation_convolution_forward_x,
    .weight = Attribute::operation_convolution_forward_w,
    .output = Attribute::operation_convolution_forward_y,
    .alpha = Attribute::operation_convolution_forward_alpha,
    .beta = Attribute::operation_convolution_forward_beta,
};
constexpr OperationNames backward_data{
    .type = DescriptorType::operation_convolution_backward_data,
    .convolution = Attribute::operation_convolution_backward_data_convolution,
    .input = Attribute::operation_convolution_backward_data_dy,
    .weight = Attribute::operation_convolution_backward_data_w,
    .output = Attribute::operation_convolution_backward_data_dx,
    .alpha = Attribute::operation_convolution_backward_data_alpha,
    .beta = Attribute::operation_convolution_backward_data_beta,
};

Descriptor convolve(const OperationNames& names, DataType compute_type, const Descriptor& convolution,
                    const Descriptor& input, const Descriptor& weight, const Descriptor& output) {
  Descriptor result(names.type);
  result.set(names.convolution, convolution);
  result.set(names.input, input);
  result.set(names.weight, weight);
  result.set(names.output, output);
  if (compute_type == DataType::float64) {
    result.set(names.alpha, 1.0);
    result.set(names.beta, 0.0);
  } else {
    result.set(names.alpha, 1.0f);
    result.set(names.beta, 0.0f);
  }
  result.finalize();
  return result;
}

Descriptor addition(DataType compute_type) {
  Descriptor result(DescriptorType::pointwise);
  result.set(Attribute::pointwise_mode, PointwiseMode::add);
  result.set(Attribute::pointwise_math_precision, compute_type);
  result.finalize();
  return result;
}

Descriptor add(const Descriptor& addition, const Descriptor& left, const Descriptor& right, const Descriptor& sum) {
  Descriptor result(DescriptorType::operation_pointwise);
  result.set(Attribute::operation_pointwise_descriptor, addition);
  result.set(Attribute::operation_pointwise_x, left);
  result.set(Attribute::operation_pointwise_b, right);
  result.set(Attribute::operation_pointwise_y, sum);
  result.finalize();
  return result;
}

}  // namespace

std::string refusal(const Problem& problem) {
  if (problem.kind == Kind::depthwise_separable) return "cuDNN computes a depthwise separable convolution as two";
  if (problem.padding_mode != PaddingMode::zeros)
    return fmt::format("cuDNN pads with zeros alone; padding_mode = {}", name(problem.padding_mode));
  if (problem.residual) return "cuDNN's convolution adds no residual";
  if (problem.activation != Activation::none)
    return fmt::format("cuDNN's convolution has no activation; activation = {}", name(problem.activation));
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(problem.rank); ++axis) {
    for (const std::int64_t padding : {problem.padding_lo[axis], problem.padding_hi[axis]}) {
      if (padding < 0) return fmt::format("cuDNN does not crop; padding = {}", padding);
    }
    // Output padding beyond the stride.
    if (const std::int64_t padding = padding_at_end(problem, axis); padding < 0)
      return fmt::format("cuDNN does not crop; padding and output_padding at the end come to {}", padding);
  }
  return {};
}

ConvolutionLayout convolution_layout(const Problem& problem, const CudnnChoice& choice) {
  const auto with_strides = [&](const Sizes& sizes) {
    return TensorLayout{sizes, packed_strides(sizes, choice.layout)};
  };
  const auto tensor_layout = [&](const Sizes& shape) {
    return with_strides(with_unit_axis(shape, problem, choice.rank1, 1));
  };
  const auto per_axis = [&](const Extent& extent, std::int64_t unit) {
    return with_unit_axis(Sizes(extent.begin(), extent.begin() + problem.rank), problem, choice.rank1, unit);
  };
  ConvolutionLayout result;
  result.input = tensor_layout(input_shape(problem));
  result.weight = tensor_layout(weight_shape(problem));
  result.output = tensor_layout(output_shape(problem));
  Sizes bias_sizes(result.output.sizes.size(), 1);
  bias_sizes[1] = problem.out_channels;
  result.bias = with_strides(bias_sizes);
  result.padding_lo = per_axis(problem.padding_lo, 0);
  Extent padding_hi{};
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(problem.rank); ++axis)
    padding_hi[axis] = padding_at_end(problem, axis);
  result.padding_hi = per_axis(padding_hi, 0);
  result.stride = per_axis(problem.stride, 1);
  result.dilation = per_axis(problem.dilation, 1);
  return result;
}

Target Target::described(std::string_view json) {
  auto properties = std::make_shared<Descriptor>(DescriptorType::device_properties);
  const std::string terminated(json);
  properties->set_all<char>(Attribute::device_properties_json, {terminated.c_str(), terminated.size() + 1});
  properties->finalize();
  return {nullptr, std::move(properties)};
}

Graph::Graph(const Target& target, const Problem& problem, const CudnnChoice& choice) : adds_bias_(problem.bias) {
  const ConvolutionLayout layout = convolution_layout(problem, choice);
  const auto keep = [this](Descriptor part) -> const Descriptor& { return parts_.emplace_back(std::move(part)); };

  std::vector<DescriptorPointer> operations;
  const DataType operand = data_type(problem.dtype), sum_of = sum_type(problem);
  const Descriptor& description = keep(convolution(layout, sum_of));
  const Descriptor& input = keep(tensor(layout.input, operand, input_id));
  const Descriptor& weight = keep(tensor(layout.weight, operand, weight_id));
  const Descriptor& output = keep(tensor(layout.output, data_type(problem.out_dtype), output_id));
  const auto convolve_into = [&](const Descriptor& result) {
    const OperationNames& names = problem.kind == Kind::transposed ? backward_data : forward;
    operations.push_back(keep(convolve(names, sum_of, description, input, weight, result)).pointer());
  };
  if (adds_bias_) {
    const Descriptor& sum = keep(tensor(layout.output, sum_of, sum_id, true));
    const Descriptor& bias = keep(tensor(layout.bias, operand, bias_id));
    convolve_into(sum);
    const Descriptor& plus = keep(addition(sum_of));
    operations.push_back(keep(add(plus, sum, bias, output)).pointer());
  } else {
    convolve_into(output);
  }

  Descriptor graph(DescriptorType::operation_graph);
  if (target.handle != nullptr) graph.set(Attribute::operation_graph_handle, target.handle);
  graph.set(Attribute::operation_graph_operations, operations);
  graph.finalize();
  keep(std::move(graph));
}

Graph::~Graph() {
  while (!parts_.empty()) parts_.pop_back();  // a deque destroys first what others refer to
}

Descriptor variant_pack(const Pointers& pointers, bool adds_bias) {
  std::vector<std::int64_t> ids{input_id, weight_id, output_id};
  std::vector<void*> tensors{pointers.input, pointers.weight, pointers.output};
  if (adds_bias) {
    ids.push_back(bias_id);
    tensors.push_back(pointers.bias);
  }
  Descriptor result(DescriptorType::variant_pack);
  result.set(Attribute::variant_pack_unique_ids, ids);
  result.set(Attribute::variant_pack_data_pointers, tensors);
  result.set(Attribute::variant_pack_workspace, pointers.workspace);
  result.finalize();
  return result;
}

}  // namespace tapconv::cuda::cudnn
