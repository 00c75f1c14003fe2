#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "../unit/strided.hpp"
#include "cuda/driver.hpp"
#include "cuda/driver_api.hpp"
#include "tapconv/device_convolution.hpp"
#include "tapconv/shared.cuh"

namespace tapconv::testing {

/// A host tensor's elements and what lies between them, in device memory, `offset` bytes behind a multiple of 256.
class OnDevice {
 public:
  OnDevice(const cuda::Context& context, const Strided& host, std::size_t offset = 0)
      : host_(&host),
        before_(bytes_before(host)),
        start_(offset),
        buffer_(context, offset + bytes_before(host) + bytes_after(host)) {
    buffer_.upload({host.data - before_, before_ + bytes_after(host)}, start_);
  }

  [[nodiscard]] std::byte* data() const { return buffer_.as<std::byte>() + start_ + before_; }
  [[nodiscard]] TensorView view() const {
    return {.data = data(), .dtype = host_->dtype, .shape = host_->shape, .strides = host_->strides};
  }
  [[nodiscard]] MutableTensorView mutable_view() const {
    return {.data = data(), .dtype = host_->dtype, .shape = host_->shape, .strides = host_->strides};
  }
  /// Back over a host tensor that lies alike.
  void download(Strided& host) const { buffer_.download({host.data - before_, before_ + bytes_after(host)}, start_); }
  void upload(const Strided& host) { buffer_.upload({host.data - before_, before_ + bytes_after(host)}, start_); }

 private:
  static std::size_t reach(const Strided& host, bool negative) {
    std::int64_t elements = 0;
    for (std::size_t axis = 0; axis < host.shape.size(); ++axis) {
      if ((host.strides[axis] < 0) == negative) elements += std::abs(host.strides[axis]) * (host.shape[axis] - 1);
    }
    return static_cast<std::size_t>(elements) * element_bytes(host.dtype);
  }
  static std::size_t bytes_before(const Strided& host) { return reach(host, true); }
  static std::size_t bytes_after(const Strided& host) { return reach(host, false) + element_bytes(host.dtype); }

  const Strided* host_;
  std::size_t before_, start_;
  cuda::Buffer buffer_;
};

/// A problem's tensors in device memory, as they lie in `host`, which must live on.
class DeviceCase {
 public:
  DeviceCase(const cuda::Context& context, const Tensors& host, std::size_t offset = 0)
      : input(context, host.input, offset), weight(context, host.weight, offset), output(context, host.output, offset) {
    const auto add = [&](std::optional<OnDevice>& target, const std::optional<Strided>& source) {
      if (source) target.emplace(context, *source, offset);
    };
    add(bias, host.bias);
    add(pointwise_weight, host.pointwise_weight);
    add(pointwise_bias, host.pointwise_bias);
    add(residual, host.residual);
  }

  [[nodiscard]] DeviceViews views() const {
    const auto view = [](const std::optional<OnDevice>& tensor) {
      return tensor ? std::optional(tensor->view()) : std::nullopt;
    };
    return {.input = input.view(),
            .weight = weight.view(),
            .bias = view(bias),
            .pointwise_weight = view(pointwise_weight),
            .pointwise_bias = view(pointwise_bias),
            .residual = view(residual),
            .output = output.mutable_view()};
  }

  /// With weights that were packed in place of them.
  [[nodiscard]] DeviceViews views(const cuda::Buffer& packed) const {
    DeviceViews views = this->views();
    views.weight.reset();
    views.pointwise_weight.reset();
    views.packed = memory(packed);
    return views;
  }

  static std::span<std::byte> memory(const cuda::Buffer& buffer) { return {buffer.as<std::byte>(), buffer.bytes()}; }

  OnDevice input, weight, output;
  std::optional<OnDevice> bias, pointwise_weight, pointwise_bias, residual;
};

/// Values whose sums are rounded, so that another order of adding shows.
inline void fill_reals(Strided& tensor, std::uint64_t seed) {
  const shared::Recipe recipe{.seed = seed, .values = shared::Values::signed_, .scale = 1, .keep = 1};
  for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) tensor.set(i, shared::seeded_value(recipe, i));
}

inline Tensors real_tensors(const Problem& problem, std::uint64_t seed) {
  Tensors tensors(problem);
  fill_reals(tensors.input, seed);
  fill_reals(tensors.weight, seed + 1);
  for (auto* tensor : {&tensors.bias, &tensors.pointwise_weight, &tensors.pointwise_bias, &tensors.residual})
    if (*tensor) fill_reals(**tensor, ++seed + 1);
  return tensors;
}

/// The bits of every output, in the order of their indices.
inline std::vector<std::uint64_t> bits_of(const Strided& tensor) {
  std::vector<std::uint64_t> bits;
  for (const double value : values_of(tensor)) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

/// Runs and waits; the output comes back into host.output.
inline void compute(const DeviceConvolution& convolution, const DeviceViews& views, const OnDevice& output,
                    Tensors& host) {
  const cuda::Context& context = cuda::Context::get(convolution.device());
  const cuda::Stream stream(context);
  const cuda::Buffer workspace(context, convolution.workspace_bytes(views.input.shape));
  convolution.run(views, DeviceCase::memory(workspace), stream.handle());
  stream.synchronize();
  output.download(host.output);
}

inline void compute(const DeviceConvolution& convolution, Tensors& host, std::size_t offset = 0) {
  const DeviceCase device(cuda::Context::get(convolution.device()), host, offset);
  compute(convolution, device.views(), device.output, host);
}

}  // namespace tapconv::testing
