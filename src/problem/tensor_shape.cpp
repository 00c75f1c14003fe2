#include "problem/tensor_shape.hpp"

#include <cstdlib>
#include <limits>

#include "problem/text.hpp"

namespace tapconv {
namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// Whether the sum of |size * stride| over the axes, in bytes, fits 63 bits.
bool reach_fits(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides, DType dtype) {
  std::int64_t room = largest / static_cast<std::int64_t>(element_bytes(dtype));
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t extent = 0;
    if (__builtin_mul_overflow(shape[axis], strides[axis], &extent) || extent < -largest) return false;
    if (std::abs(extent) > room) return false;
    room -= std::abs(extent);
  }
  return true;
}

}  // namespace

std::string tuple_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::int64_t checked_count(std::span<const std::int64_t> shape, DType dtype, std::string_view subject) {
  if (shape.size() > most_dimensions) {
    fail(ErrorCode::usage, "{}: shape has {} dimensions; at most {} are valid", subject, shape.size(), most_dimensions);
  }
  const std::int64_t most = largest / static_cast<std::int64_t>(element_bytes(dtype));
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 1) {
      fail(ErrorCode::usage, "{}: shape {} has a dimension of {}; at least 1 is valid", subject, tuple_text(shape),
           size);
    }
    if (size > most / count) {
      fail(ErrorCode::usage, "{}: shape {} of {} has more bytes than 63 bits can count", subject, tuple_text(shape),
           name(dtype));
    }
    count *= size;
  }
  return count;
}

std::vector<std::int64_t> checked_strides(const TensorView& view, std::string_view subject) {
  (void)checked_count(view.shape, view.dtype, subject);
  if (view.data == nullptr) fail(ErrorCode::usage, "{}: data is null; the address of an element is valid", subject);
  if (view.strides.empty()) return strides_of(view.shape, Layout::contiguous);
  if (view.strides.size() != view.shape.size()) {
    fail(ErrorCode::usage, "{}: strides are {} for a shape of {}; as many as sizes, or none, are valid", subject,
         tuple_text(view.strides), tuple_text(view.shape));
  }
  if (!reach_fits(view.shape, view.strides, view.dtype)) {
    fail(ErrorCode::usage, "{}: strides {} of shape {} reach further than 63 bits of bytes", subject,
         tuple_text(view.strides), tuple_text(view.shape));
  }
  return view.strides;
}

}  // namespace tapconv
