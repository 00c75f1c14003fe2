#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tapconv/tensor.hpp"

namespace tapconv {

/// The view's own strides, or those of a contiguous tensor.
[[nodiscard]] std::vector<std::int64_t> strides_of(const TensorView& view);

/// Whether the elements lie exactly as in a dense tensor of that layout, so that they can be used in place. Strides of
/// axes of size 1 do not matter.
[[nodiscard]] bool is_dense(const TensorView& view, Layout layout);

/// Whether two elements share memory.
[[nodiscard]] bool overlaps_itself(const TensorView& view);

/// Addresses from the first byte of a view up to the end of its last.
struct Reach {
  std::uintptr_t begin, end;
};
[[nodiscard]] Reach reach_of(const TensorView& view);

[[nodiscard]] inline bool meet(const Reach& a, const Reach& b) { return a.begin < b.end && b.begin < a.end; }

/// Whether any byte between the first and the last element of one view lies so in the other too.
[[nodiscard]] bool share_memory(const TensorView& a, const TensorView& b);

/// Copies the elements of a view into dense memory of that layout, or back. `dense` has the view's number of elements.
void copy_to_dense(const TensorView& view, Layout layout, std::span<std::byte> dense);
void copy_from_dense(std::span<const std::byte> dense, Layout layout, const MutableTensorView& view);

/// The same as a view to be read.
[[nodiscard]] TensorView read_only(const MutableTensorView& view);

}  // namespace tapconv
