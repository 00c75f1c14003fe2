#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "oracle/oracle.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A tensor with an index for each axis, in the order of its logical indices.
struct Grid {
  std::vector<std::int64_t> shape;
  std::vector<double> values;

  explicit Grid(std::vector<std::int64_t> sizes)
      : shape(std::move(sizes)), values(static_cast<std::size_t>(element_count(shape))) {}

  [[nodiscard]] double& at(const std::vector<std::int64_t>& index) {
    std::int64_t linear = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) linear = linear * shape[i] + index[i];
    return values.at(static_cast<std::size_t>(linear));
  }
};

/// Calls body(index) for every index of `shape`.
template <class Body>
void for_each_index(const std::vector<std::int64_t>& shape, const Body& body) {
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    body(index);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// The input with its padding written out (or cropped away), axis by axis, as F.pad does it.
inline Grid pad(Grid input, const Problem& p) {
  for (int axis = 0; axis < p.rank; ++axis) {
    const std::size_t a = static_cast<std::size_t>(axis) + 2;
    const std::int64_t size = input.shape[a];
    std::vector<std::int64_t> shape = input.shape;
    shape[a] = size + p.padding_lo[axis] + p.padding_hi[axis];
    Grid padded(shape);
    for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
      std::vector<std::int64_t> source = index;
      std::int64_t& position = source[a];
      position -= p.padding_lo[axis];
      if (position < 0 || position >= size) {
        switch (p.padding_mode) {
          case PaddingMode::zeros:
            return;  // stays 0
          case PaddingMode::reflect:
            position = position < 0 ? -position : size - 1 - (position - (size - 1));
            break;
          case PaddingMode::replicate:
            position = position < 0 ? 0 : size - 1;
            break;
          case PaddingMode::circular:
            position = position < 0 ? position + size : position - size;
            break;
        }
      }
      padded.at(index) = input.at(source);
    });
    input = std::move(padded);
  }
  return input;
}

/// The sums of a plain problem by PyTorch's definition: convolutions gather from the padded input, transposed ones
/// scatter. Neither bias, residual nor activation.
inline Grid convolve(const Problem& p, const Grid& x, Grid w) {
  Grid y(output_shape(p));
  Grid input = p.kind == Kind::transposed ? x : pad(x, p);
  const std::int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  std::vector<std::int64_t> products{p.batch, p.groups, group_out, group_in};
  const auto spatial = p.kind == Kind::transposed ? p.input : output_extent(p);
  for (int axis = 0; axis < p.rank; ++axis) products.push_back(p.kernel[axis]);
  for (int axis = 0; axis < p.rank; ++axis) products.push_back(spatial[axis]);
  for_each_index(products, [&](const std::vector<std::int64_t>& i) {
    const std::int64_t k = i[1] * group_out + i[2], c = i[1] * group_in + i[3];
    std::vector<std::int64_t> xi{i[0], c}, yi{i[0], k}, wi{k, i[3]};
    if (p.kind == Kind::transposed) wi = {c, i[2]};
    for (int axis = 0; axis < p.rank; ++axis) {
      const std::int64_t tap = i[static_cast<std::size_t>(4 + axis)],
                         q = i[static_cast<std::size_t>(4 + p.rank + axis)];
      const std::int64_t far = q * p.stride[axis] + tap * p.dilation[axis];
      wi.push_back(tap);
      if (p.kind == Kind::transposed) {
        xi.push_back(q);
        yi.push_back(far - p.padding_lo[axis]);
        if (yi.back() < 0 || yi.back() >= y.shape[static_cast<std::size_t>(axis) + 2]) return;
      } else {
        xi.push_back(far);
        yi.push_back(q);
      }
    }
    y.at(yi) += input.at(xi) * w.at(wi);
  });
  return y;
}

/// The operands of a problem, in the order of their logical indices.
struct DefinitionOperands {
  Grid input, weight, bias, pointwise_weight, pointwise_bias, residual;

  /// Integers over 16 from -64 to 64, a quarter of them 0: every sum of a small problem is exact.
  DefinitionOperands(const Problem& p, std::uint64_t seed)
      : input(input_shape(p)),
        weight(weight_shape(p)),
        bias({std::max<std::int64_t>(bias_count(p), 1)}),
        pointwise_weight(p.kind == Kind::depthwise_separable ? pointwise_weight_shape(p)
                                                             : std::vector<std::int64_t>{1}),
        pointwise_bias({std::max<std::int64_t>(pointwise_bias_count(p), 1)}),
        residual(output_shape(p)) {
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (Grid* grid : {&input, &weight, &bias, &pointwise_weight, &pointwise_bias, &residual}) {
      for (double& value : grid->values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t draw = state >> 40;
        value = draw % 4 == 0 ? 0 : (static_cast<double>(draw / 4 % 129) - 64) / 16;
      }
    }
  }
};

/// The sums of any problem, bias and residual included, before the activation.
inline Grid define(const Problem& problem, const DefinitionOperands& operands) {
  const auto add_bias = [](Grid& y, const Grid& bias) {
    const std::int64_t inner = element_count(y.shape) / y.shape[0] / y.shape[1];
    for (std::size_t i = 0; i < y.values.size(); ++i)
      y.values[i] += bias.values[static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % y.shape[1])];
  };
  const std::vector<Problem> parts = stages(problem);
  Grid y = convolve(parts[0], operands.input, operands.weight);
  if (problem.bias) add_bias(y, operands.bias);
  if (parts.size() > 1) {
    y = convolve(parts[1], y, operands.pointwise_weight);
    if (problem.bias) add_bias(y, operands.pointwise_bias);
  }
  if (problem.residual) {
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += operands.residual.values[i];
  }
  return y;
}

/// `grid` in memory as a problem has it.
inline std::vector<std::byte> store(const Grid& grid, DType dtype, Layout layout) {
  std::vector<std::byte> bytes(grid.values.size() * element_bytes(dtype));
  const std::vector<std::int64_t> strides = strides_of(grid.shape, layout);
  std::size_t i = 0;
  for_each_index(grid.shape, [&](const std::vector<std::int64_t>& index) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * strides[axis];
    store_element(bytes.data(), dtype, place, grid.values[i++]);
  });
  return bytes;
}

/// The same operands in memory.
struct StoredOperands {
  std::vector<std::byte> input, weight, bias, pointwise_weight, pointwise_bias, residual;

  StoredOperands(const Problem& p, const DefinitionOperands& o)
      : input(store(o.input, p.dtype, p.layout)), weight(store(o.weight, p.dtype, p.layout)) {
    const bool separable = p.kind == Kind::depthwise_separable;
    if (p.bias) bias = store(o.bias, p.dtype, p.layout);
    if (separable) pointwise_weight = store(o.pointwise_weight, p.dtype, p.layout);
    if (separable && p.bias) pointwise_bias = store(o.pointwise_bias, p.dtype, p.layout);
    if (p.residual) residual = store(o.residual, p.out_dtype, p.layout);
  }

  [[nodiscard]] Operands operands() const {
    return {.input = input,
            .weight = weight,
            .bias = bias,
            .pointwise_weight = pointwise_weight,
            .pointwise_bias = pointwise_bias,
            .residual = residual};
  }
};

}  // namespace tapconv::testing
