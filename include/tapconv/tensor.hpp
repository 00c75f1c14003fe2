#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tapconv/dtype.hpp"

namespace tapconv {

/// How an activation tensor (N, C, spatial...) or a weight lies in memory.
enum class Layout {
  contiguous,     ///< last axis fastest, as PyTorch's contiguous_format
  channels_last,  ///< (N, spatial..., C), as PyTorch's channels_last and channels_last_3d; the same for 1-D
};

/// "contiguous" or "channels_last".
[[nodiscard]] std::string_view name(Layout layout) noexcept;

/// Strides in elements of a dense tensor of `shape` in `layout`. A shape of fewer than three axes is the same in both.
/// Throws Error{usage} for a shape that no Tensor can have.
[[nodiscard]] std::vector<std::int64_t> strides_of(std::span<const std::int64_t> shape, Layout layout);

/// A tensor in host memory that somebody else owns. Element (i0, i1, ...) is at data + sum of i * stride, in elements;
/// strides may be negative or 0.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides{};  ///< as many as `shape`, or empty: contiguous
};

/// The same, to be written.
struct MutableTensorView {
  void* data = nullptr;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides{};
};

/// A tensor in host memory that it owns, or that it shares the ownership of (a file mapped into memory). Copies share
/// the memory.
class Tensor {
 public:
  /// No tensor: no elements, an empty shape.
  Tensor() = default;

  /// Zeros, contiguous. Throws Error{usage} for a size below 1 or too many elements, Error{memory} if the host cannot
  /// hold them.
  Tensor(DType dtype, std::vector<std::int64_t> shape);

  /// float32, contiguous, with these values. Throws Error{usage} if their number is not the shape's.
  Tensor(std::vector<std::int64_t> shape, std::span<const float> values);

  /// Read-only on memory that `owner` keeps alive. Nothing is copied. Throws Error{usage} for null data, a shape that
  /// no tensor has, or strides that are not as many as the sizes or reach beyond 63 bits of bytes.
  Tensor(TensorView view, std::shared_ptr<const void> owner);

  [[nodiscard]] DType dtype() const noexcept { return view_.dtype; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return view_.shape; }
  /// As many as sizes, never left out.
  [[nodiscard]] const std::vector<std::int64_t>& strides() const noexcept { return view_.strides; }
  [[nodiscard]] std::int64_t size() const noexcept;  ///< number of elements
  [[nodiscard]] const TensorView& view() const noexcept { return view_; }

  /// To be written; only of a tensor made with the first two constructors, else throws Error{internal}.
  [[nodiscard]] MutableTensorView mutable_view();

  /// All elements in the order of their indices (last axis fastest), whatever the strides. Exact.
  [[nodiscard]] std::vector<double> values() const;

 private:
  TensorView view_;
  std::shared_ptr<const void> owner_;
  bool writable_ = false;
};

/// Reads a tensor: `x.npy`, or `x.safetensors:name`. The name begins after the first ".safetensors:"; it may be left
/// out if the file holds one tensor alone. The file is mapped into memory, not read: pages are loaded when they are
/// touched, and a file that another program shortens meanwhile ends the process. Only values that are not aligned for
/// their type are copied. Types: float32, float16, float64 (.npy, little-endian, C or Fortran order); these and
/// bfloat16
/// (.safetensors). Throws Error{environment} if the file cannot be read, Error{usage} if it is malformed, truncated,
/// has a size of 0 or another type, or if the name is missing or ambiguous, Error{memory} if the host cannot hold a
/// copy.
[[nodiscard]] Tensor read_tensor(std::string_view source);

/// Writes a tensor in the order of its indices to `y.npy`, or to `y.safetensors:name` (name: "tensor" if left out) as
/// the only tensor of the file. Atomic: a reader sees the old file or the whole new one. Throws Error{environment} if
/// that fails, Error{usage} for another suffix, for a .safetensors file that holds other tensors (they would be lost),
/// a view that Tensor would refuse, or bfloat16 in .npy, which has no such type.
void write_tensor(std::string_view target, const TensorView& tensor);

}  // namespace tapconv
