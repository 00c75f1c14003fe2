#pragma once

#include <array>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "problem/text.hpp"
#include "tapconv/problem.hpp"
#include "tapconv/tapconv.h"
#include "tapconv/tensor.hpp"

struct tapconv_problem {
  explicit tapconv_problem(const tapconv::Problem& problem);

  /// Dense in the problem's layout; empty where the problem has none.
  struct Description {
    tapconv::DType dtype = tapconv::DType::float32;
    std::vector<std::int64_t> shape{}, strides{};
  };

  tapconv::Problem value;
  std::string text;
  std::array<Description, TAPCONV_OUTPUT + 1> tensors{};  ///< by role
};

/// What all functions of the C interface are made of.
namespace tapconv::c_api {

constexpr tapconv_status status_of(ErrorCode code) { return static_cast<tapconv_status>(code) + 1; }

/// Keeps the message for tapconv_last_error() and returns the status.
tapconv_status failed(tapconv_status status, const char* message) noexcept;

/// Calls body() and turns what it throws into a status and a message.
template <class Body>
tapconv_status guarded(const Body& body) noexcept {
  try {
    body();
    return TAPCONV_OK;
  } catch (const Error& error) {
    return failed(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return failed(TAPCONV_MEMORY, "not enough memory on the host");
  } catch (const std::exception& error) {
    return failed(TAPCONV_INTERNAL, error.what());
  } catch (...) {
    return failed(TAPCONV_INTERNAL, "an exception of an unknown type");
  }
}

/// What `pointer` points to. `name` is the parameter's.
template <class T>
T& given(T* pointer, const char* name) {
  if (!pointer) fail(ErrorCode::usage, "{} is null; valid: a pointer", name);
  return *pointer;
}

/// The same for what is to be written: set to null first, so that it is defined whatever happens.
template <class T>
T*& cleared(T** pointer, const char* name) {
  T*& target = given(pointer, name);
  target = nullptr;
  return target;
}

/// Copies of a caller's arrays, and its tensors as views. Throw Error{usage} naming `name`.
[[nodiscard]] std::vector<std::int64_t> sizes(const std::int64_t* numbers, std::int32_t ndim, const char* name);
[[nodiscard]] MutableTensorView view_of(const tapconv_tensor& tensor, const char* name);
[[nodiscard]] TensorView read_view(const tapconv_tensor& tensor, const char* name);
[[nodiscard]] std::optional<TensorView> optional_view(const tapconv_tensor* tensor, const char* name);

}  // namespace tapconv::c_api
