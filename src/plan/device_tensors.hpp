#pragma once

#include <cstdint>
#include <span>

#include "tapconv/problem.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// The tensors of one call in device memory, in the problem's types. Those that the problem does not have are null.
struct DeviceTensors {
  const void *input = nullptr, *weight = nullptr, *bias = nullptr;
  const void *pointwise_weight = nullptr, *pointwise_bias = nullptr;
  const void* residual = nullptr;
  void* output = nullptr;
  const void* packed = nullptr;  ///< in place of the weights, for a plan of packed ones: what prepare() wrote
};

/// Where the elements of one call's tensors lie, in elements. Biases lie without gaps.
struct DeviceStrides {
  shared::Strides input{}, output{}, residual{};
  shared::WeightStrides weight{}, pointwise_weight{};
};

/// A view's strides in PyTorch's order as kernels take them: of an activation tensor (N, C, spatial...), and of the
/// weight of a plain problem.
[[nodiscard]] shared::Strides activation_strides(std::span<const std::int64_t> strides);
[[nodiscard]] shared::WeightStrides weight_strides(const Problem& plain, std::span<const std::int64_t> strides);

}  // namespace tapconv
