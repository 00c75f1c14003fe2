#include "cpu/primitive.hpp"

#include <algorithm>

namespace tapconv::cpu {

Primitive::Primitive(const Description& description, int threads) : description_(description), threads_(threads) {
  with_onednn(threads_, [&] {
    const auto& [engine, convolution] = description_;
    stream_ = dnnl::stream(engine);
    convolution_ = dnnl::convolution_forward(convolution);
    input_ = make_tensor(convolution.src_desc(), true);
    output_ = make_tensor(convolution.dst_desc(), false);
    weight_ = dnnl::memory(convolution.weights_desc(), engine);
    if (convolution.bias_desc().get_size() != 0) bias_ = dnnl::memory(convolution.bias_desc(), engine);
  });
}

Primitive::Tensor Primitive::make_tensor(const dnnl::memory::desc& inner, bool is_input) {
  const dnnl::engine& engine = description_.engine;
  Tensor tensor;
  tensor.outer = dnnl::memory(contiguous(inner), engine, nullptr);
  tensor.same = inner == tensor.outer.get_desc();
  if (tensor.same) {
    tensor.inner = tensor.outer;  // the same memory object: a new data handle reaches both
  } else {
    tensor.inner = dnnl::memory(inner, engine);
    tensor.reorder = is_input ? dnnl::reorder(tensor.outer, tensor.inner) : dnnl::reorder(tensor.inner, tensor.outer);
  }
  return tensor;
}

std::string Primitive::name() const {
  const dnnl::memory::desc desc = description_.convolution.src_desc();
  const char* tensors = in_place(description_)        ? "contiguous"
                        : desc.get_inner_nblks() == 0 ? "channels-last"
                                                      : "blocked";
  return fmt::format("{}, {} tensors", description_.convolution.impl_info_str(), tensors);
}

void Primitive::set_weights(const float* weight, const float* bias) {
  with_onednn(threads_, [&] {
    // oneDNN's interface takes no pointers to const, but only reads the source of a reorder.
    dnnl::memory source(contiguous(weight_.get_desc()), description_.engine, const_cast<float*>(weight));
    dnnl::reorder(source, weight_).execute(stream_, source, weight_);
    stream_.wait();
    if (bias) {
      const auto count = static_cast<std::size_t>(bias_.get_desc().get_dims()[0]);
      std::copy_n(bias, count, static_cast<float*>(bias_.get_data_handle()));
    }
  });
}

void Primitive::run(const float* input, float* output) {
  with_onednn(threads_, [&] {
    input_.outer.set_data_handle(const_cast<float*>(input));
    output_.outer.set_data_handle(output);
    if (!input_.same) input_.reorder.execute(stream_, input_.outer, input_.inner);
    convolution_.execute(stream_, {{DNNL_ARG_SRC, input_.inner},
                                   {DNNL_ARG_WEIGHTS, weight_},
                                   {DNNL_ARG_BIAS, bias_},
                                   {DNNL_ARG_DST, output_.inner}});
    if (!output_.same) output_.reorder.execute(stream_, output_.inner, output_.outer);
    stream_.wait();
  });
}

}  // namespace tapconv::cpu
