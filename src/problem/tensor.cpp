#include "tapconv/tensor.hpp"

#include <cstring>
#include <new>
#include <utility>

#include "problem/tensor_runs.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// A cache line, and the widest vector.
constexpr std::align_val_t alignment{64};

std::shared_ptr<void> zeros(std::size_t bytes) {
  void* const memory = ::operator new(bytes, alignment, std::nothrow);
  if (memory == nullptr) fail(ErrorCode::memory, "no memory for a tensor of {} bytes", bytes);
  std::memset(memory, 0, bytes);
  return {memory, [](void* owned) { ::operator delete(owned, alignment); }};
}

}  // namespace

std::string_view name(Layout layout) noexcept { return layout == Layout::contiguous ? "contiguous" : "channels_last"; }

std::vector<std::int64_t> strides_of(std::span<const std::int64_t> shape, Layout layout) {
  (void)checked_count(shape, DType::float16, "tensor");
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  const bool channels_last = layout == Layout::channels_last && shape.size() >= 3;
  if (channels_last) {
    strides[1] = 1;
    stride = shape[1];
  }
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (channels_last && axis == 1) continue;
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

Tensor::Tensor(DType dtype, std::vector<std::int64_t> shape) : writable_(true) {
  const std::int64_t count = checked_count(shape, dtype, "tensor");
  const std::shared_ptr<void> memory = zeros(static_cast<std::size_t>(count) * element_bytes(dtype));
  view_ = {memory.get(), dtype, std::move(shape), {}};
  view_.strides = strides_of(view_.shape, Layout::contiguous);
  owner_ = memory;
}

Tensor::Tensor(std::vector<std::int64_t> shape, std::span<const float> values) {
  if (const std::int64_t count = checked_count(shape, DType::float32, "tensor");
      static_cast<std::size_t>(count) != values.size()) {
    fail(ErrorCode::usage, "tensor: {} values were given for a shape of {}", values.size(), count);
  }
  *this = Tensor(DType::float32, std::move(shape));
  std::memcpy(mutable_view().data, values.data(), values.size_bytes());
}

Tensor::Tensor(TensorView view, std::shared_ptr<const void> owner) : view_(std::move(view)), owner_(std::move(owner)) {
  view_.strides = checked_strides(view_, "tensor");
}

std::int64_t Tensor::size() const noexcept {
  if (view_.data == nullptr) return 0;
  std::int64_t count = 1;
  for (const std::int64_t size : view_.shape) count *= size;
  return count;
}

MutableTensorView Tensor::mutable_view() {
  if (!writable_) fail(ErrorCode::internal, "a tensor on memory of another owner cannot be written");
  return {const_cast<void*>(view_.data), view_.dtype, view_.shape, view_.strides};
}

std::vector<double> Tensor::values() const {
  std::vector<double> values;
  if (view_.data == nullptr) return values;
  values.reserve(static_cast<std::size_t>(size()));
  for_each_run(view_.shape, view_.strides, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(load_element(view_.data, view_.dtype, offset + i * stride));
  });
  return values;
}

}  // namespace tapconv
