#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/cpu_engine.hpp"
#include "oracle/oracle.hpp"
#include "tapconv/convolution.hpp"
#include "tapconv/error.hpp"

namespace tapconv::testing {

using Shape = std::vector<std::int64_t>;

/// A tensor of `shape` whose elements lie in `strides` of a larger block of memory, at `offset` bytes from its start.
struct Strided {
  Strided(DType type, Shape sizes, Shape steps, std::size_t offset = 0)
      : dtype(type), shape(std::move(sizes)), strides(std::move(steps)) {
    std::int64_t before = 0, after = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      (strides[axis] < 0 ? before : after) += strides[axis] * (shape[axis] - 1);
    const std::size_t bytes = element_bytes(dtype);
    // What lies between the elements is a NaN.
    memory.assign(static_cast<std::size_t>(after - before) * bytes + 64, std::byte{0xff});
    const auto misaligned = reinterpret_cast<std::uintptr_t>(memory.data()) % 32;
    data = memory.data() + (32 - misaligned) % 32 + offset + static_cast<std::size_t>(-before) * bytes;
  }

  [[nodiscard]] std::int64_t place(std::int64_t index) const {
    std::int64_t found = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      found += index % shape[axis] * strides[axis];
      index /= shape[axis];
    }
    return found;
  }

  void set(std::int64_t index, double value) {
    std::byte element[8];
    store_element(element, dtype, 0, value);
    std::memcpy(data + place(index) * static_cast<std::int64_t>(element_bytes(dtype)), element, element_bytes(dtype));
  }

  /// As at first.
  void wipe() {
    for (std::int64_t i = 0; i < element_count(shape); ++i)
      std::memset(data + place(i) * static_cast<std::int64_t>(element_bytes(dtype)), 0xff, element_bytes(dtype));
  }

  [[nodiscard]] double get(std::int64_t index) const {
    alignas(8) std::byte element[8];
    std::memcpy(element, data + place(index) * static_cast<std::int64_t>(element_bytes(dtype)), element_bytes(dtype));
    return load_element(element, dtype, 0);
  }

  /// Small integers, of which every sum is exact.
  void fill(std::uint64_t seed) {
    for (std::int64_t i = 0; i < element_count(shape); ++i)
      set(i, static_cast<double>((static_cast<std::uint64_t>(i) * 2654435761U + seed * 40503U) % 7) - 3);
  }

  [[nodiscard]] TensorView view() const { return {.data = data, .dtype = dtype, .shape = shape, .strides = strides}; }
  [[nodiscard]] MutableTensorView mutable_view() {
    return {.data = data, .dtype = dtype, .shape = shape, .strides = strides};
  }

  DType dtype;
  Shape shape, strides;
  std::vector<std::byte> memory;
  std::byte* data;
};

inline Strided dense(DType dtype, const Shape& shape, Layout layout) {
  return {dtype, shape, strides_of(shape, layout)};
}

/// A problem's tensors, filled with integers.
struct Tensors {
  explicit Tensors(const Problem& p, std::uint64_t seed = 1)
      : problem(p),
        input(dense(p.dtype, input_shape(p), p.layout)),
        weight(dense(p.dtype, weight_shape(p), p.layout)),
        output(dense(p.out_dtype, output_shape(p), p.layout)) {
    input.fill(seed);
    weight.fill(seed + 1);
    const auto add = [&](std::optional<Strided>& target, DType dtype, const Shape& shape) {
      target.emplace(dense(dtype, shape, p.layout));
      target->fill(++seed + 1);
    };
    if (p.bias) add(bias, p.dtype, {bias_count(p)});
    if (p.kind == Kind::depthwise_separable) add(pointwise_weight, p.dtype, pointwise_weight_shape(p));
    if (p.kind == Kind::depthwise_separable && p.bias) add(pointwise_bias, p.dtype, {pointwise_bias_count(p)});
    if (p.residual) add(residual, p.out_dtype, output_shape(p));
  }

  [[nodiscard]] WeightViews weights() const {
    return {.weight = weight.view(),
            .bias = view(bias),
            .pointwise_weight = view(pointwise_weight),
            .pointwise_bias = view(pointwise_bias)};
  }

  static std::optional<TensorView> view(const std::optional<Strided>& tensor) {
    return tensor ? std::optional(tensor->view()) : std::nullopt;
  }

  /// The oracle's outputs.
  [[nodiscard]] std::vector<OracleOutput> evaluate() const {
    std::vector<std::int64_t> outputs(static_cast<std::size_t>(element_count(output.shape)));
    std::iota(outputs.begin(), outputs.end(), 0);
    const auto bytes = [](const std::optional<Strided>& tensor) {
      return tensor ? std::span<const std::byte>(tensor->data, static_cast<std::size_t>(element_count(tensor->shape)) *
                                                                   element_bytes(tensor->dtype))
                    : std::span<const std::byte>{};
    };
    const Operands operands{.input = bytes(input),
                            .weight = bytes(weight),
                            .bias = bytes(bias),
                            .pointwise_weight = bytes(pointwise_weight),
                            .pointwise_bias = bytes(pointwise_bias),
                            .residual = bytes(residual)};
    return oracle(problem, operands, outputs, operand_rounding(problem.contract, problem.tie_rule));
  }

  /// The same, as `problem` stores them.
  [[nodiscard]] std::vector<double> expected() const {
    std::vector<double> values;
    for (const OracleOutput& one : evaluate()) values.push_back(round_to(one.value, problem.out_dtype));
    return values;
  }

  Problem problem;
  Strided input, weight, output;
  std::optional<Strided> bias{}, pointwise_weight{}, pointwise_bias{}, residual{};
};

inline std::vector<double> values_of(const Strided& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) values.push_back(tensor.get(i));
  return values;
}

/// float64 needs no oneDNN; float32 does.
inline std::vector<DType> types() {
  if (cpu_engine_available()) return {DType::float64, DType::float32};
  return {DType::float64};
}

/// Conv2d(3, 4, (2, 3), padding=1) @ 2x3x5x6.
inline Problem small(DType dtype, Layout layout = Layout::contiguous) {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 3;
  problem.out_channels = 4;
  problem.input = {5, 6, 1};
  problem.kernel = {2, 3, 1};
  problem.padding_lo = problem.padding_hi = {1, 1, 0};
  problem.dtype = problem.out_dtype = dtype;
  problem.layout = layout;
  problem.contract = default_contract(dtype);
  return problem;
}

/// One channel, one tap, float64, with a residual, on an input of (batch, 1, width).
inline Problem pointwise(std::int64_t batch, std::int64_t width) {
  Problem problem;
  problem.rank = 1;
  problem.batch = batch;
  problem.input[0] = width;
  problem.dtype = problem.out_dtype = DType::float64;
  problem.contract = Contract::fp64;
  problem.bias = false;
  problem.residual = true;
  return problem;
}

inline void expect_error(const std::function<void()>& body, std::string_view part, ErrorCode code = ErrorCode::usage) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(code, error.code());
    EXPECT_NE(std::string::npos, std::string_view(error.what()).find(part)) << error.what() << "\nexpected: " << part;
  }
}

}  // namespace tapconv::testing
