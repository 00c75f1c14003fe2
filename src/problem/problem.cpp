#include "tapconv/problem.hpp"

#include "problem/text.hpp"
#include "problem/validity.hpp"

namespace tapconv {
namespace {

std::vector<std::int64_t> shape(std::int64_t outer, std::int64_t channels, const Extent& spatial, int rank) {
  std::vector<std::int64_t> sizes{outer, channels};
  sizes.insert(sizes.end(), spatial.begin(), spatial.begin() + rank);
  return sizes;
}

}  // namespace

void validate(const Problem& problem) {
  if (const auto violation = find_violation(problem)) fail(ErrorCode::usage, "{}", violation->message);
}

Extent output_extent(const Problem& problem) {
  Extent output{1, 1, 1};
  for (int axis = 0; axis < problem.rank; ++axis) {
    const std::int64_t padding = problem.padding_lo[axis] + problem.padding_hi[axis];
    const std::int64_t reach = problem.dilation[axis] * (problem.kernel[axis] - 1);
    output[axis] =
        problem.kind == Kind::transposed
            ? (problem.input[axis] - 1) * problem.stride[axis] - padding + reach + problem.output_padding[axis] + 1
            : (problem.input[axis] + padding - reach - 1) / problem.stride[axis] + 1;
  }
  return output;
}

std::vector<std::int64_t> input_shape(const Problem& problem) {
  return shape(problem.batch, problem.in_channels, problem.input, problem.rank);
}

std::vector<std::int64_t> weight_shape(const Problem& problem) {
  switch (problem.kind) {
    case Kind::convolution:
      return shape(problem.out_channels, problem.in_channels / problem.groups, problem.kernel, problem.rank);
    case Kind::transposed:
      return shape(problem.in_channels, problem.out_channels / problem.groups, problem.kernel, problem.rank);
    case Kind::depthwise_separable:
      return shape(problem.in_channels * problem.depth_multiplier, 1, problem.kernel, problem.rank);
  }
  return {};
}

std::vector<std::int64_t> pointwise_weight_shape(const Problem& problem) {
  return shape(problem.out_channels, problem.in_channels * problem.depth_multiplier, {1, 1, 1}, problem.rank);
}

std::vector<std::int64_t> output_shape(const Problem& problem) {
  return shape(problem.batch, problem.out_channels, output_extent(problem), problem.rank);
}

std::int64_t bias_count(const Problem& problem) {
  if (!problem.bias) return 0;
  return problem.kind == Kind::depthwise_separable ? problem.in_channels * problem.depth_multiplier
                                                   : problem.out_channels;
}

std::int64_t pointwise_bias_count(const Problem& problem) {
  return problem.bias && problem.kind == Kind::depthwise_separable ? problem.out_channels : 0;
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::vector<Problem> stages(const Problem& problem) {
  if (problem.kind != Kind::depthwise_separable) return {problem};
  Problem depthwise = problem;
  depthwise.kind = Kind::convolution;
  depthwise.groups = problem.in_channels;
  depthwise.out_channels = problem.in_channels * problem.depth_multiplier;
  depthwise.depth_multiplier = 1;
  depthwise.residual = false;
  depthwise.activation = Activation::none;
  depthwise.negative_slope = Problem{}.negative_slope;

  Problem pointwise = problem;
  pointwise.kind = Kind::convolution;
  pointwise.in_channels = depthwise.out_channels;
  pointwise.input = output_extent(problem);
  pointwise.kernel = pointwise.stride = pointwise.dilation = {1, 1, 1};
  pointwise.padding_lo = pointwise.padding_hi = {0, 0, 0};
  pointwise.padding_mode = PaddingMode::zeros;
  pointwise.depth_multiplier = 1;
  return {depthwise, pointwise};
}

Work work(const Problem& problem) {
  const auto count = [](const std::vector<std::int64_t>& sizes) { return static_cast<double>(element_count(sizes)); };
  const double input = count(input_shape(problem)), output = count(output_shape(problem));
  double weight = count(weight_shape(problem));
  double flop = 0;
  for (const Problem& stage : stages(problem)) {
    const double filters = count(weight_shape(stage));
    flop += stage.kind == Kind::transposed
                ? 2 * count(input_shape(stage)) * filters / static_cast<double>(stage.in_channels)
                : 2 * count(output_shape(stage)) * filters / static_cast<double>(stage.out_channels);
  }
  if (problem.kind == Kind::depthwise_separable) weight += count(pointwise_weight_shape(problem));
  const auto biases = static_cast<double>(bias_count(problem) + pointwise_bias_count(problem));
  const double read = static_cast<double>(element_bytes(problem.dtype)) * (input + weight + biases);
  const double written = static_cast<double>(element_bytes(problem.out_dtype)) * output * (problem.residual ? 2 : 1);
  return {.flop = flop, .byte = read + written};
}

std::string_view name(PaddingMode mode) noexcept {
  switch (mode) {
    case PaddingMode::zeros:
      return "zeros";
    case PaddingMode::reflect:
      return "reflect";
    case PaddingMode::replicate:
      return "replicate";
    case PaddingMode::circular:
      return "circular";
  }
  return "?";
}

}  // namespace tapconv
