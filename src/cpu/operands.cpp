#include "cpu/operands.hpp"

#include <algorithm>
#include <string_view>

#include "problem/parallel.hpp"
#include "problem/text.hpp"

namespace tapconv::cpu {
namespace {

void check_size(std::string_view tensor, std::size_t size, std::int64_t expected) {
  if (size == static_cast<std::size_t>(expected)) return;
  fail(ErrorCode::usage, "{} has {} elements; valid: {}", tensor, size, expected);
}

}  // namespace

void check_weights(const Problem& problem, std::span<const float> weight, std::span<const float> bias) {
  check_size("weight", weight.size(), element_count(weight_shape(problem)));
  check_size("bias", bias.size(), problem.bias ? problem.out_channels : 0);
}

void check_tensors(const Problem& problem, std::span<const float> input, std::span<const float> output) {
  check_size("input", input.size(), element_count(input_shape(problem)));
  check_size("output", output.size(), element_count(output_shape(problem)));
}

void check_limits(const Problem& problem) {
  const Problem padded = without_padding(problem);
  // In floating point: the padding alone can make a product too large for 64 bits.
  const auto check = [](std::string_view what, double value, double most) {
    if (value > most) fail(ErrorCode::usage, "{} = {:.0f}; valid on the CPU: at most {:.0f}", what, value, most);
  };
  const auto elements = [](std::int64_t channels, const Extent& extent) {
    double product = static_cast<double>(channels);
    for (const std::int64_t size : extent) product *= static_cast<double>(size);
    return product;
  };
  check("batch", static_cast<double>(problem.batch), 0x1p30);
  check("in_channels", static_cast<double>(problem.in_channels), 0x1p30);
  check("out_channels", static_cast<double>(problem.out_channels), 0x1p30);
  for (const std::int64_t size : padded.input) check("padded input size", static_cast<double>(size), 0x1p30);
  check("elements of a padded input image", elements(problem.in_channels, padded.input), 0x1p31);
  check("elements of an output image", elements(problem.out_channels, output_extent(problem)), 0x1p31);
  check("elements of the weight", static_cast<double>(element_count(weight_shape(problem))), 0x1p31);
}

bool has_padding(const Problem& problem) { return without_padding(problem) != problem; }

Problem without_padding(const Problem& problem) {
  Problem result = problem;
  for (int axis = 0; axis < max_rank; ++axis) result.input[axis] += problem.padding_lo[axis] + problem.padding_hi[axis];
  result.padding_lo = result.padding_hi = {0, 0, 0};
  return result;
}

PaddedInput::PaddedInput(const Problem& problem, bool pad) : problem_(problem) {
  const Problem copied = pad ? without_padding(problem) : problem;
  const int shift = max_rank - problem.rank;
  for (int axis = 0; axis < problem.rank; ++axis) {
    origin_[axis + shift] = pad ? problem.padding_lo[axis] : 0;
    inner_[axis + shift] = problem.input[axis];
    outer_[axis + shift] = copied.input[axis];
  }
  copy_.resize(static_cast<std::size_t>(element_count(input_shape(copied))));
}

std::span<const float> PaddedInput::fill(std::span<const float> input, OperandRounding rounding, int threads) {
  const std::int64_t rows = problem_.batch * problem_.in_channels * inner_[0] * inner_[1];
  const std::int64_t length = inner_[2];
  parallel_for(threads, [&](std::int64_t begin_part, std::int64_t end_part) {
    for (std::int64_t row = rows * begin_part / threads; row < rows * end_part / threads; ++row) {
      const std::int64_t h = row % inner_[1], d = row / inner_[1] % inner_[0], plane = row / (inner_[1] * inner_[0]);
      const std::int64_t to =
          ((plane * outer_[0] + d + origin_[0]) * outer_[1] + h + origin_[1]) * outer_[2] + origin_[2];
      const float* source = input.data() + row * length;
      float* target = copy_.data() + to;
      if (rounding == OperandRounding::exact) {
        std::copy_n(source, length, target);
      } else {
        std::transform(source, source + length, target, [=](float value) { return round_operand(value, rounding); });
      }
    }
  });
  return copy_;
}

}  // namespace tapconv::cpu
