#include "engine/host_tensors.hpp"

namespace tapconv {

HostTensors::HostTensors(const Problem& problem) {
  const auto bytes = [](std::int64_t count, DType dtype) {
    return static_cast<std::size_t>(count) * element_bytes(dtype);
  };
  const std::int64_t outputs = element_count(output_shape(problem));
  const bool separable = problem.kind == Kind::depthwise_separable;
  input.resize(bytes(element_count(input_shape(problem)), problem.dtype));
  weight.resize(bytes(element_count(weight_shape(problem)), problem.dtype));
  bias.resize(bytes(bias_count(problem), problem.dtype));
  pointwise_weight.resize(bytes(separable ? element_count(pointwise_weight_shape(problem)) : 0, problem.dtype));
  pointwise_bias.resize(bytes(pointwise_bias_count(problem), problem.dtype));
  residual.resize(bytes(problem.residual ? outputs : 0, problem.out_dtype));
  output.resize(bytes(outputs, problem.out_dtype));
}

Operands HostTensors::operands() const {
  return {.input = input,
          .weight = weight,
          .bias = bias,
          .pointwise_weight = pointwise_weight,
          .pointwise_bias = pointwise_bias,
          .residual = residual};
}

}  // namespace tapconv
