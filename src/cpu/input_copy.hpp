#pragma once

#include <array>
#include <cstdint>

#include "tapconv/problem.hpp"

namespace tapconv::cpu {

/// The input of a plain convolution in binary32, each value rounded as the contract says, with the positions around it
/// that the padding stands for written out (or fewer, where it is negative).
class InputCopy {
 public:
  /// From `lo` positions before the first of the input to `hi` after its last, on each axis.
  InputCopy(const Problem& problem, const Extent& lo, const Extent& hi);

  /// Number of elements of the copy, dense in the problem's layout.
  [[nodiscard]] std::int64_t count() const { return outer_ * size_[0] * size_[1] * size_[2] * run_; }

  void fill(const std::byte* input, float* target, int threads) const;

 private:
  void fill_row(const std::byte* row, std::int64_t begin, std::int64_t end, float* target) const;
  void copy(const std::byte* source, float* target, std::int64_t count) const;

  DType dtype_;
  PaddingMode mode_;
  OperandRounding rounding_;
  // Both layouts are (outer, D, H, W, run): images and channels, 1; or images, channels.
  std::int64_t outer_, run_;
  std::array<std::int64_t, 3> input_{1, 1, 1}, size_{1, 1, 1}, lo_{0, 0, 0};
};

}  // namespace tapconv::cpu
