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
    const std::int64_t padded = problem.input[axis] + problem.padding_lo[axis] + problem.padding_hi[axis];
    const std::int64_t reach = problem.dilation[axis] * (problem.kernel[axis] - 1);
    output[axis] = (padded - reach - 1) / problem.stride[axis] + 1;
  }
  return output;
}

std::vector<std::int64_t> input_shape(const Problem& problem) {
  return shape(problem.batch, problem.in_channels, problem.input, problem.rank);
}

std::vector<std::int64_t> weight_shape(const Problem& problem) {
  return shape(problem.out_channels, problem.in_channels / problem.groups, problem.kernel, problem.rank);
}

std::vector<std::int64_t> output_shape(const Problem& problem) {
  return shape(problem.batch, problem.out_channels, output_extent(problem), problem.rank);
}

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

Work work(const Problem& problem) {
  const auto input = static_cast<double>(element_count(input_shape(problem)));
  const auto weight = static_cast<double>(element_count(weight_shape(problem)));
  const auto output = static_cast<double>(element_count(output_shape(problem)));
  const auto out_channels = static_cast<double>(problem.out_channels);
  const double bias = problem.bias ? out_channels : 0;
  const double products = weight / out_channels;
  return {.flop = 2 * output * products, .byte = sizeof(float) * (input + weight + bias + output)};
}

}  // namespace tapconv
