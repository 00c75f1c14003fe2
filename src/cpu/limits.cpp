#include "cpu/limits.hpp"

#include <algorithm>
#include <string_view>

#include "problem/text.hpp"

namespace tapconv::cpu {
namespace {

std::size_t bytes_of(std::int64_t count, DType dtype) { return static_cast<std::size_t>(count) * element_bytes(dtype); }

void check_size(std::string_view tensor, std::size_t size, std::size_t expected) {
  if (size != expected) fail(ErrorCode::usage, "{} has {} bytes; valid: {}", tensor, size, expected);
}

// In floating point: padding can make a product too large for 64 bits.
void check(std::string_view what, double value, double most) {
  if (value > most) fail(ErrorCode::usage, "{} = {:.0f}; valid on the CPU: at most {:.0f}", what, value, most);
}

double elements(std::int64_t channels, const Extent& extent) {
  double product = static_cast<double>(channels);
  for (const std::int64_t size : extent) product *= static_cast<double>(size);
  return product;
}

}  // namespace

void check_weights(const Problem& problem, const Weights& weights) {
  const std::int64_t pointwise =
      problem.kind == Kind::depthwise_separable ? element_count(pointwise_weight_shape(problem)) : 0;
  const auto bytes = [&](std::int64_t count) { return bytes_of(count, problem.dtype); };
  check_size("weight", weights.weight.size(), bytes(element_count(weight_shape(problem))));
  check_size("bias", weights.bias.size(), bytes(bias_count(problem)));
  check_size("pointwise_weight", weights.pointwise_weight.size(), bytes(pointwise));
  check_size("pointwise_bias", weights.pointwise_bias.size(), bytes(pointwise_bias_count(problem)));
}

TensorBytes::TensorBytes(const Problem& problem)
    : input(bytes_of(element_count(input_shape(problem)), problem.dtype)),
      output(bytes_of(element_count(output_shape(problem)), problem.out_dtype)) {
  residual = problem.residual ? output : 0;
}

void TensorBytes::check(std::span<const std::byte> given_input, std::span<const std::byte> given_residual,
                        std::span<const std::byte> given_output) const {
  check_size("input", given_input.size(), input);
  check_size("residual", given_residual.size(), residual);
  check_size("output", given_output.size(), output);
}

void check_limits(const Problem& problem) {
  constexpr double longest_axis = 0x1p30, largest_image = 0x1p31;
  const bool transposed = problem.kind == Kind::transposed;
  const Extent output = output_extent(problem);
  check("batch", static_cast<double>(problem.batch), longest_axis);
  check("in_channels", static_cast<double>(problem.in_channels), longest_axis);
  check("out_channels", static_cast<double>(problem.out_channels), longest_axis);
  Extent padded = problem.input;
  for (int axis = 0; axis < max_rank; ++axis) {
    // Cropping leaves the input itself as it is.
    if (!transposed)
      padded[axis] = std::max(padded[axis], padded[axis] + problem.padding_lo[axis] + problem.padding_hi[axis]);
    check("padded input size", static_cast<double>(padded[axis]), longest_axis);
    check("output size", static_cast<double>(output[axis]), longest_axis);
  }
  check("elements of a padded input image", elements(problem.in_channels, padded), largest_image);
  check("elements of an output image", elements(problem.out_channels, output), largest_image);
  check("elements of the weight", static_cast<double>(element_count(weight_shape(problem))), largest_image);
}

}  // namespace tapconv::cpu
