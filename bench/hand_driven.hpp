#pragma once

#include <algorithm>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "tapconv/problem.hpp"

namespace tapconv::bench {

/// How a user of oneDNN may describe the tensors that it works on.
enum class Way {
  caller,         ///< as the caller has them
  any,            ///< left to oneDNN, with reorders
  channels_last,  ///< with reorders where the caller has others
  rows_any,       ///< a 1-D problem as a 2-D one with one row, left to oneDNN
  rows_caller,    ///< the same, as the caller has them
};
inline constexpr Way all_ways[] = {Way::caller, Way::any, Way::channels_last, Way::rows_any, Way::rows_caller};

/// A problem on oneDNN alone: zero padding, its types, its post-ops. Everything is prepared once.
class HandDriven {
  using memory = dnnl::memory;
  using tag = memory::format_tag;
  using dims = memory::dims;

 public:
  /// Null if oneDNN has no implementation for that.
  static std::unique_ptr<HandDriven> make(const Problem& p, Way way) {
    const bool rows = way == Way::rows_any || way == Way::rows_caller;
    if (rows && p.rank != 1) return nullptr;
    try {
      return std::unique_ptr<HandDriven>(new HandDriven(p, way, rows ? 1 : 0));
    } catch (const dnnl::error&) {
      return nullptr;
    }
  }

  [[nodiscard]] std::string name() const { return description_.impl_info_str(); }

  void set_weights(const void* weight, const void* bias) {
    memory source(weight_outer_, engine_, const_cast<void*>(weight));
    dnnl::reorder(source, weight_).execute(stream_, source, weight_);
    if (bias && bias_.get(true)) {
      memory given(bias_outer_, engine_, const_cast<void*>(bias));
      dnnl::reorder(given, bias_).execute(stream_, given, bias_);
    }
    stream_.wait();
  }

  void run(const void* input, const void* residual, void* output) {
    input_outer_.set_data_handle(const_cast<void*>(input));
    output_outer_.set_data_handle(output);
    if (pack_) pack_.execute(stream_, input_outer_, input_);
    if (residual_outer_) residual_outer_.set_data_handle(const_cast<void*>(residual));
    if (pack_residual_) pack_residual_.execute(stream_, residual_outer_, residual_);
    primitive_.execute(stream_, arguments_);
    if (unpack_) unpack_.execute(stream_, output_, output_outer_);
    stream_.wait();
  }

 private:
  HandDriven(const Problem& p, Way way, int leading) : stream_(engine_) {
    const auto spatial = [&](dims front, const Extent& extent, std::int64_t neutral, std::int64_t less = 0) {
      front.insert(front.end(), static_cast<std::size_t>(leading), neutral);
      for (int axis = 0; axis < p.rank; ++axis) front.push_back(extent[static_cast<std::size_t>(axis)] - less);
      return front;
    };
    const auto type = [](DType dtype) {
      return dtype == DType::float32    ? memory::data_type::f32
             : dtype == DType::bfloat16 ? memory::data_type::bf16
                                        : memory::data_type::f16;
    };
    const std::size_t axes = static_cast<std::size_t>(p.rank + leading);
    constexpr tag contiguous[] = {tag::abc, tag::abcd, tag::abcde}, last[] = {tag::acb, tag::acdb, tag::acdeb};
    const bool channels_last = p.layout == Layout::channels_last;
    const tag caller = channels_last ? last[axes - 1] : contiguous[axes - 1];
    const tag inner = way == Way::any || way == Way::rows_any ? tag::any
                      : way == Way::channels_last             ? last[axes - 1]
                                                              : caller;
    const dims input = spatial({p.batch, p.in_channels}, p.input, 1);
    const dims output = spatial({p.batch, p.out_channels}, output_extent(p), 1);
    const std::int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
    const dims filter = spatial(p.groups == 1 ? dims{out, in} : dims{p.groups, out, in}, p.kernel, 1);

    dnnl::post_ops steps;
    if (p.residual) steps.append_binary(dnnl::algorithm::binary_add, {output, type(p.out_dtype), inner});
    if (p.activation == Activation::relu) steps.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    if (p.activation == Activation::silu) steps.append_eltwise(dnnl::algorithm::eltwise_swish, 1, 0);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(steps);
    const auto describe = [&](auto primitive, dnnl::algorithm algorithm) -> dnnl::primitive_desc_base {
      using Primitive = decltype(primitive);
      return typename Primitive::primitive_desc(
          engine_, dnnl::prop_kind::forward_inference, algorithm, {input, type(p.dtype), inner},
          {filter, type(p.dtype), tag::any},
          p.bias ? memory::desc({p.out_channels}, memory::data_type::f32, tag::a) : memory::desc(),
          {output, type(p.out_dtype), inner}, spatial({}, p.stride, 1), spatial({}, p.dilation, 0, 1),
          spatial({}, p.padding_lo, 0), spatial({}, p.padding_hi, 0), attributes);
    };
    const bool transposed = p.kind == Kind::transposed;
    description_ = transposed ? describe(dnnl::deconvolution_forward(), dnnl::algorithm::deconvolution_direct)
                              : describe(dnnl::convolution_forward(), dnnl::algorithm::convolution_direct);
    primitive_ = dnnl::primitive(description_.get());

    input_outer_ = memory({input, type(p.dtype), caller}, engine_, nullptr);
    output_outer_ = memory({output, type(p.out_dtype), caller}, engine_, nullptr);
    input_ = inner_of(input_outer_, description_.src_desc(0));
    output_ = inner_of(output_outer_, description_.dst_desc(0));
    if (input_ != input_outer_) pack_ = dnnl::reorder(input_outer_, input_);
    if (output_ != output_outer_) unpack_ = dnnl::reorder(output_, output_outer_);
    weight_ = memory(description_.weights_desc(0), engine_);
    weight_outer_ = filter_of_caller(p, filter, axes, type(p.dtype));
    arguments_ = {{DNNL_ARG_SRC, input_}, {DNNL_ARG_WEIGHTS, weight_}, {DNNL_ARG_DST, output_}};
    if (p.bias) {
      bias_ = memory(description_.weights_desc(1), engine_);
      bias_outer_ = {{p.out_channels}, type(p.dtype), tag::a};
      arguments_.emplace(DNNL_ARG_BIAS, bias_);
    }
    if (p.residual) {
      const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;
      residual_outer_ = memory({output, type(p.out_dtype), caller}, engine_, nullptr);
      residual_ = inner_of(residual_outer_, description_.query_md(dnnl::query::exec_arg_md, argument));
      if (residual_ != residual_outer_) pack_residual_ = dnnl::reorder(residual_outer_, residual_);
      arguments_.emplace(argument, residual_);
    }
  }

  memory inner_of(const memory& outer, const memory::desc& desc) {
    return outer.get_desc() == desc ? outer : memory(desc, engine_);
  }

  /// The caller's weight: (K, C/groups, spatial), or transposed (C, K/groups, spatial), which is oneDNN's with two axes
  /// exchanged.
  static memory::desc filter_of_caller(const Problem& p, const dims& filter, std::size_t axes, memory::data_type type) {
    constexpr tag dense[] = {tag::abc, tag::abcd, tag::abcde}, grouped[] = {tag::abcd, tag::abcde, tag::abcdef};
    constexpr tag last[] = {tag::acb, tag::acdb, tag::acdeb};
    constexpr tag swapped[] = {tag::bac, tag::bacd, tag::bacde};
    if (p.kind == Kind::transposed) return {filter, type, swapped[axes - 1]};
    if (p.groups != 1) return {filter, type, grouped[axes - 1]};
    return {filter, type, p.layout == Layout::channels_last ? last[axes - 1] : dense[axes - 1]};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_;
  dnnl::primitive_desc_base description_;
  dnnl::primitive primitive_;
  memory input_outer_, input_, output_outer_, output_, residual_outer_, residual_, weight_, bias_;
  memory::desc weight_outer_, bias_outer_;
  dnnl::reorder pack_, unpack_, pack_residual_;
  std::unordered_map<int, memory> arguments_;
};

}  // namespace tapconv::bench
