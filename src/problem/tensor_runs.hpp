#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tapconv {

/// Visits all elements of a strided tensor in the order of their indices (last axis fastest), as few and long runs as
/// the strides allow: visit(offset, count, stride) stands for the elements offset + i * stride, i < count, in elements
/// from the first. Shape and strides are ones that checked_strides() accepts.
template <class Visit>
void for_each_run(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, Visit visit) {
  struct Axis {
    std::int64_t size, stride, index;
  };
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!axes.empty() && axes.back().stride == shape[i] * strides[i]) {
      axes.back() = {axes.back().size * shape[i], strides[i], 0};
    } else {
      axes.push_back({shape[i], strides[i], 0});
    }
  }
  Axis inner{1, 1, 0};
  if (!axes.empty()) {
    inner = axes.back();
    axes.pop_back();
  }
  std::int64_t offset = 0;
  for (;;) {
    visit(offset, inner.size, inner.stride);
    std::size_t axis = axes.size();
    while (axis > 0 && axes[axis - 1].index == axes[axis - 1].size - 1) {
      Axis& full = axes[--axis];
      offset -= full.index * full.stride;
      full.index = 0;
    }
    if (axis == 0) return;
    ++axes[axis - 1].index;
    offset += axes[axis - 1].stride;
  }
}

}  // namespace tapconv
