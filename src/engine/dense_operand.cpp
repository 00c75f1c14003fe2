#include "engine/dense_operand.hpp"

#include <new>
#include <stdexcept>

#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"
#include "problem/views.hpp"

namespace tapconv {
namespace {

/// Of a view whose size was checked.
std::size_t dense_bytes(const TensorView& view) {
  std::size_t bytes = element_bytes(view.dtype);
  for (const std::int64_t size : view.shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

}  // namespace

void check_presence(bool given, bool has, std::string_view field, std::string_view why) {
  if (given && !has) fail(ErrorCode::usage, "{} is given; the problem has {}", field, why);
  if (!given && has) fail(ErrorCode::usage, "{} is missing; the problem has {}", field, why);
}

void check_operand(const TensorView& view, std::string_view field, const std::vector<std::int64_t>& shape,
                   DType dtype) {
  (void)checked_strides(view, field);
  if (view.shape != shape)
    fail(ErrorCode::usage, "{} has shape {}; the problem needs {}", field, tuple_text(view.shape), tuple_text(shape));
  if (view.dtype != dtype)
    fail(ErrorCode::usage, "{} is of {}; the problem needs {}", field, name(view.dtype), name(dtype));
}

bool usable_in_place(const TensorView& view, Layout layout) {
  return reinterpret_cast<std::uintptr_t>(view.data) % element_bytes(view.dtype) == 0 && is_dense(view, layout);
}

std::span<const std::byte> dense_operand(const TensorView& view, std::string_view field, Layout layout,
                                         std::vector<std::byte>& buffer) {
  if (usable_in_place(view, layout)) return {static_cast<const std::byte*>(view.data), dense_bytes(view)};
  const std::span<std::byte> copy = sized_buffer(view, field, buffer);
  copy_to_dense(view, layout, copy);
  return copy;
}

std::span<std::byte> sized_buffer(const TensorView& view, std::string_view field, std::vector<std::byte>& buffer) {
  try {
    buffer.resize(dense_bytes(view));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory, "{}: no memory for a copy of {} bytes", field, dense_bytes(view));
  } catch (const std::length_error&) {
    fail(ErrorCode::memory, "{}: no memory for a copy of {} bytes", field, dense_bytes(view));
  }
  return buffer;
}

}  // namespace tapconv
