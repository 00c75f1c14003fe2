#pragma once

#include <optional>
#include <span>

#include "plan/device_tensors.hpp"
#include "tapconv/device_convolution.hpp"

namespace tapconv {

/// A call whose tensors were checked, as a plan takes it.
struct DeviceCall {
  Problem sized;  ///< at the sizes of the input
  DeviceTensors tensors;
  std::optional<DeviceStrides> strides{};  ///< absent: every tensor is dense
};

/// `problem` at the sizes of an input of this shape. Throws Error{usage} as with_input_shape() does.
[[nodiscard]] Problem at_input_shape(const Problem& problem, std::span<const std::int64_t> input_shape);

/// Checks the tensors of a run, see DeviceConvolution::run(); reads none of them and asks no driver. `packed_bytes` and
/// the workspace's size are checked by the caller.
[[nodiscard]] DeviceCall check_run(const Problem& problem, const DeviceOptions& options, const DeviceViews& views,
                                   std::span<const std::byte> workspace);

/// Checks the tensors of a prepare(); of the call's tensors the weights are set.
[[nodiscard]] DeviceCall check_prepare(const Problem& problem, const DeviceOptions& options, const TensorView& weight,
                                       const std::optional<TensorView>& pointwise_weight,
                                       std::span<const std::byte> packed);

/// Throws Error{usage} naming `field` unless there are at least `needed` bytes, at a multiple of 256.
void check_memory(std::span<const std::byte> memory, std::size_t needed, std::string_view field);

}  // namespace tapconv
