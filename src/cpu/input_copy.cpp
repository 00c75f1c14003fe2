#include "cpu/input_copy.hpp"

#include <algorithm>

#include "cpu/convert.hpp"
#include "cpu/threads.hpp"
#include "problem/lowering.hpp"

namespace tapconv::cpu {

InputCopy::InputCopy(const Problem& problem, const Extent& lo, const Extent& hi)
    : dtype_(problem.dtype),
      mode_(problem.padding_mode),
      rounding_(operand_rounding(problem.contract, problem.tie_rule)),
      outer_(problem.layout == Layout::channels_last ? problem.batch : problem.batch * problem.in_channels),
      run_(problem.layout == Layout::channels_last ? problem.in_channels : 1) {
  // What a 16-bit contract rounds to is what its tensors hold.
  if (dtype_ != DType::float32) rounding_ = OperandRounding::exact;
  const int shift = max_rank - problem.rank;
  for (int axis = 0; axis < problem.rank; ++axis) {
    input_[axis + shift] = problem.input[axis];
    lo_[axis + shift] = lo[axis];
    size_[axis + shift] = problem.input[axis] + lo[axis] + hi[axis];
  }
  if (lo_ == std::array<std::int64_t, 3>{} && size_ == input_) {  // all of it in one row, which goes fastest
    size_ = input_ = {1, 1, count()};
    outer_ = run_ = 1;
  }
}

void InputCopy::copy(const std::byte* source, float* target, std::int64_t count) const {
  to_float(source, dtype_, target, count);
  round_floats(target, count, rounding_);
}

/// Positions [begin, end) of the copy's last axis; `row` is the input's row, null for zeros.
void InputCopy::fill_row(const std::byte* row, std::int64_t begin, std::int64_t end, float* target) const {
  if (!row) {
    std::fill_n(target, (end - begin) * run_, 0.0F);
    return;
  }
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype_));
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t position = at - lo_[2];
    if (position >= 0 && position < input_[2]) {
      const std::int64_t length = std::min(end - at, input_[2] - position);
      copy(row + position * run_ * bytes, target, length * run_);
      target += length * run_;
      at += length;
    } else {
      if (const auto source = source_position(position, input_[2], mode_)) {
        copy(row + *source * run_ * bytes, target, run_);
      } else {
        std::fill_n(target, run_, 0.0F);
      }
      target += run_;
      ++at;
    }
  }
}

void InputCopy::fill(const std::byte* input, float* target, int threads) const {
  constexpr std::int64_t grain_elements = 1 << 14;
  const auto bytes = static_cast<std::int64_t>(element_bytes(dtype_));
  const std::int64_t positions = outer_ * size_[0] * size_[1] * size_[2];
  const std::int64_t grain = std::max<std::int64_t>(grain_elements / run_, 1);
  parallel_ranges(threads, positions, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last;) {
      const std::int64_t row = at / size_[2], begin = at % size_[2];
      const std::int64_t end = std::min(size_[2], begin + last - at);
      const std::int64_t outer = row / size_[1] / size_[0];
      const auto d = source_position(row / size_[1] % size_[0] - lo_[0], input_[0], mode_);
      const auto h = source_position(row % size_[1] - lo_[1], input_[1], mode_);
      const std::byte* source =
          d && h ? input + ((outer * input_[0] + *d) * input_[1] + *h) * input_[2] * run_ * bytes : nullptr;
      fill_row(source, begin, end, target + at * run_);
      at += end - begin;
    }
  });
}

}  // namespace tapconv::cpu
