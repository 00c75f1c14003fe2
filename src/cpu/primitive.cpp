#include "cpu/primitive.hpp"

#include <algorithm>

namespace tapconv::cpu {

Primitive::Primitive(const Request& request, const Description& description, int threads)
    : description_(description),
      caller_weight_(caller_weight(request.problem)),
      cropped_bytes_(cropped_elements(request.problem) *
                     static_cast<std::int64_t>(element_bytes(request.problem.dtype))),
      threads_(threads) {
  with_onednn(threads_, [&] {
    const dnnl::engine& engine = description_.engine;
    const Problem& problem = request.problem;
    using Piece = Workspace::Piece;
    stream_ = dnnl::stream(engine);
    primitive_ = dnnl::primitive(description_.primitive.get());
    input_ = make_tensor(caller_input(problem), description_.input(), Direction::in, Piece::inner_input);
    output_ =
        make_tensor(caller_output(problem, request.result), description_.output(), Direction::out, Piece::inner_output);
    weight_ = dnnl::memory(description_.weight(), engine);
    arguments_ = {{DNNL_ARG_SRC, input_.inner}, {DNNL_ARG_WEIGHTS, weight_}, {DNNL_ARG_DST, output_.inner}};
    if (problem.bias) {
      bias_ = dnnl::memory(description_.primitive.weights_desc(1), engine);
      arguments_.emplace(DNNL_ARG_BIAS, bias_);
    }
    if (request.residual) {
      residual_ = make_tensor(caller_output(problem, problem.out_dtype), description_.residual(), Direction::in,
                              Piece::inner_residual);
      arguments_.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, residual_.inner);
    }
  });
}

Primitive::Tensor Primitive::make_tensor(const dnnl::memory::desc& outer, const dnnl::memory::desc& inner,
                                         Direction direction, Workspace::Piece piece) {
  const dnnl::engine& engine = description_.engine;
  Tensor tensor{.outer = dnnl::memory(outer, engine, nullptr),
                .inner = {},
                .reorder = {},
                .piece = piece,
                .inner_bytes = inner.get_size(),
                .same = outer == inner};
  if (tensor.same) {
    tensor.inner = tensor.outer;  // the same memory object: a new data handle reaches both
  } else {
    tensor.inner = dnnl::memory(inner, engine, nullptr);
    tensor.reorder = direction == Direction::in ? dnnl::reorder(tensor.outer, tensor.inner)
                                                : dnnl::reorder(tensor.inner, tensor.outer);
  }
  return tensor;
}

void Primitive::Tensor::attach(const std::byte* data, Workspace& workspace) {
  // oneDNN's interface takes no pointers to const, but only reads the source of a reorder and a primitive's inputs.
  outer.set_data_handle(const_cast<std::byte*>(data));
  if (same) return;
  void* memory = workspace.get(piece, inner_bytes);
  if (memory != inner.get_data_handle()) inner.set_data_handle(memory);
}

std::string Primitive::name() const {
  const dnnl::memory::desc inner = description_.input();
  const dnnl::memory::dims shape = inner.get_dims();
  using tag = dnnl::memory::format_tag;
  const dnnl::memory::desc contiguous(shape, inner.get_data_type(), shape.size() == 5 ? tag::abcde : tag::abcd);
  const char* tensors = inner == contiguous ? "contiguous" : inner.get_inner_nblks() == 0 ? "channels-last" : "blocked";
  return fmt::format("{}, {} tensors", description_.primitive.impl_info_str(), tensors);
}

void Primitive::set_weights(const float* weight, const float* bias) {
  with_onednn(threads_, [&] {
    dnnl::memory source(caller_weight_, description_.engine, const_cast<float*>(weight));
    dnnl::reorder(source, weight_).execute(stream_, source, weight_);
    stream_.wait();
    if (bias) {
      const auto count = static_cast<std::size_t>(bias_.get_desc().get_dims()[0]);
      std::copy_n(bias, count, static_cast<float*>(bias_.get_data_handle()));
    }
  });
}

void Primitive::run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) {
  with_onednn(threads_, [&] {
    input_.attach(input + cropped_bytes_, workspace);
    output_.attach(output, workspace);
    if (!input_.same) input_.reorder.execute(stream_, input_.outer, input_.inner);
    if (residual) {
      residual_.attach(residual, workspace);
      if (!residual_.same) residual_.reorder.execute(stream_, residual_.outer, residual_.inner);
    }
    primitive_.execute(stream_, arguments_);
    if (!output_.same) output_.reorder.execute(stream_, output_.inner, output_.outer);
    stream_.wait();
  });
}

}  // namespace tapconv::cpu
