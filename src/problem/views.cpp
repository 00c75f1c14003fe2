#include "problem/views.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "problem/parallel.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// Copies element by element between two arrangements of one shape, rows of the last axis in one go.
void copy_strided(const std::byte* source, const std::vector<std::int64_t>& source_strides, std::byte* target,
                  const std::vector<std::int64_t>& target_strides, const std::vector<std::int64_t>& shape,
                  std::size_t bytes) {
  if (shape.empty()) {
    std::memcpy(target, source, bytes);
    return;
  }
  const std::int64_t columns = shape.back(), rows = count_of(shape) / columns;
  const std::int64_t source_step = source_strides.back() * static_cast<std::int64_t>(bytes);
  const std::int64_t target_step = target_strides.back() * static_cast<std::int64_t>(bytes);
  parallel_for(rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, from = 0, to = 0;
      for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
        const std::int64_t index = rest % shape[axis];
        rest /= shape[axis];
        from += index * source_strides[axis];
        to += index * target_strides[axis];
      }
      const std::byte* x = source + from * static_cast<std::int64_t>(bytes);
      std::byte* y = target + to * static_cast<std::int64_t>(bytes);
      if (source_strides.back() == 1 && target_strides.back() == 1) {
        std::memcpy(y, x, static_cast<std::size_t>(columns) * bytes);
        continue;
      }
      for (std::int64_t column = 0; column < columns; ++column)
        std::memcpy(y + column * target_step, x + column * source_step, bytes);
    }
  });
}

}  // namespace

std::vector<std::int64_t> strides_of(const TensorView& view) {
  return view.strides.empty() ? strides_of(view.shape, Layout::contiguous) : view.strides;
}

bool is_dense(const TensorView& view, Layout layout) {
  const std::vector<std::int64_t> strides = strides_of(view), dense = strides_of(view.shape, layout);
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1 && strides[axis] != dense[axis]) return false;
  }
  return true;
}

bool overlaps_itself(const TensorView& view) {
  // Axes by stride: each must step over everything that the finer ones span. Interleaved axes that happen not to meet
  // are refused too; nobody writes into such a view on purpose.
  const std::vector<std::int64_t> strides = strides_of(view);
  std::vector<std::size_t> axes(view.shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::ranges::sort(axes, {}, [&](std::size_t axis) { return std::abs(strides[axis]); });
  std::int64_t span = 0;
  for (const std::size_t axis : axes) {
    if (view.shape[axis] == 1) continue;
    if (std::abs(strides[axis]) <= span) return true;
    span += std::abs(strides[axis]) * (view.shape[axis] - 1);
  }
  return false;
}

Reach reach_of(const TensorView& view) {
  const std::vector<std::int64_t> strides = strides_of(view);
  std::int64_t before = 0, after = 1;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
    (strides[axis] < 0 ? before : after) += strides[axis] * (view.shape[axis] - 1);
  const auto bytes = static_cast<std::int64_t>(element_bytes(view.dtype));
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  return {address + static_cast<std::uintptr_t>(before * bytes), address + static_cast<std::uintptr_t>(after * bytes)};
}

bool share_memory(const TensorView& a, const TensorView& b) { return meet(reach_of(a), reach_of(b)); }

void copy_to_dense(const TensorView& view, Layout layout, std::span<std::byte> dense) {
  copy_strided(static_cast<const std::byte*>(view.data), strides_of(view), dense.data(), strides_of(view.shape, layout),
               view.shape, element_bytes(view.dtype));
}

void copy_from_dense(std::span<const std::byte> dense, Layout layout, const MutableTensorView& view) {
  copy_strided(dense.data(), strides_of(view.shape, layout), static_cast<std::byte*>(view.data),
               strides_of(read_only(view)), view.shape, element_bytes(view.dtype));
}

TensorView read_only(const MutableTensorView& view) {
  return {.data = view.data, .dtype = view.dtype, .shape = view.shape, .strides = view.strides};
}

}  // namespace tapconv
