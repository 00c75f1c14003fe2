#include "cpu/operands.hpp"

#include <algorithm>
#include <limits>
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
  constexpr std::int64_t limit = std::int64_t{1} << 31;
  const auto check = [&](std::string_view part, const std::vector<std::int64_t>& shape, std::int64_t parts) {
    const std::int64_t size = element_count(shape) / parts;
    if (size > limit) fail(ErrorCode::usage, "{} has {} elements; valid on the CPU: at most {}", part, size, limit);
  };
  check("one image of the input", input_shape(problem), problem.batch);
  check("one image of the output", output_shape(problem), problem.batch);
  check("weight", weight_shape(problem), 1);
  std::int64_t padded = problem.in_channels;
  for (int axis = 0; axis < problem.rank; ++axis) {
    const std::int64_t size = problem.input[axis] + problem.padding_lo[axis] + problem.padding_hi[axis];
    if (__builtin_mul_overflow(padded, size, &padded)) padded = std::numeric_limits<std::int64_t>::max();
  }
  if (padded > limit) {
    fail(ErrorCode::usage, "one image of the padded input has {} elements; valid on the CPU: at most {}", padded, limit);
  }
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
