#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "tapconv/problem.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {

/// What a DeviceConvolution is planned for.
struct DeviceOptions {
  /// Most bytes of workspace; none: as many as the whole batch, and the fastest kernels, need. Under a limit the batch
  /// is worked through in passes, which changes no bit of the result. A limit with no room for packed weights excludes
  /// kernels that need them, unless they come packed (`packed`).
  std::optional<std::size_t> workspace_limit{};
  /// Tensors may have any strides, and addresses that are multiples of their elements' size alone. Without it they lie
  /// dense in the problem's layout, and input and output at multiples of up to 16 bytes, which every allocator of
  /// device memory gives. With it there are kernels of both sorts, and a call takes the one that fits its tensors.
  bool strided = false;
  /// run() takes weights that prepare() packed, in place of the weights themselves.
  bool packed = false;
  /// Asks the driver whose memory each pointer is and refuses what is no device memory of this device, but for memory
  /// of the host that CUDA knows. For finding mistakes: it asks about each tensor in every call. Without it a
  /// kernel that meets a wrong pointer breaks the whole context, as in CUDA itself.
  bool check_pointers = false;
};

/// Device memory of one call. Views are as everywhere, but `data` is an address on the device. Those that the problem
/// does not have are absent; weight and pointwise_weight are absent with the option `packed`.
struct DeviceViews {
  TensorView input;
  std::optional<TensorView> weight{}, bias{};  ///< a bias has a stride of 1
  std::optional<TensorView> pointwise_weight{}, pointwise_bias{};
  std::optional<TensorView> residual{};
  MutableTensorView output;
  std::span<const std::byte> packed{};  ///< what prepare() wrote, with the option `packed`
};

/// A convolution on tensors that are on a CUDA device already, planned once and run many times. Never changes after its
/// construction: any number of threads may use it at a time, each with a workspace of its own. Movable.
///
/// It works in the device's primary context, the one of the CUDA runtime and PyTorch, and leaves every thread's current
/// context as it is. A stream is a CUstream or cudaStream_t of that context: a null pointer is the legacy default
/// stream, the per-thread one and streams of any other sort are taken as well. Nothing but the constructor compiles,
/// allocates device memory or waits: prepare() and run() put kernels on the stream, whose order is the only
/// synchronisation, and can be captured into a graph.
class DeviceConvolution {
 public:
  /// Plans, compiles and loads. Dynamic dimensions of the problem are examples: one plan serves every size. Throws
  /// Error: usage for an invalid problem and for a workspace_limit below what one image needs, environment for a device
  /// that is not there, compile, launch.
  explicit DeviceConvolution(const Problem& problem, int device = 0, const DeviceOptions& options = {});
  DeviceConvolution(DeviceConvolution&&) noexcept;
  DeviceConvolution& operator=(DeviceConvolution&&) noexcept;
  ~DeviceConvolution();

  [[nodiscard]] const Problem& problem() const noexcept;
  [[nodiscard]] int device() const noexcept;

  /// What computes, for people.
  [[nodiscard]] std::string implementation() const;

  /// Bytes of device memory, at a multiple of 256, that run() needs on an input of this shape; 0 where nothing lies
  /// between two halves and no weights are packed in the run. Throws Error{usage} for a shape that is not the
  /// problem's, and if the limit is below what one image needs.
  [[nodiscard]] std::size_t workspace_bytes(std::span<const std::int64_t> input_shape) const;

  /// Bytes of device memory, at a multiple of 256, that prepare() fills; 0 without the option `packed`.
  [[nodiscard]] std::size_t packed_bytes() const noexcept;

  /// Starts packing the weights into `packed`, on `stream`. The weights may go when that is done; biases are not
  /// packed. `pointwise_weight` is present for a depthwise separable problem alone. Throws Error{usage} without the
  /// option `packed`, for a tensor that is not the problem's, and for less memory than packed_bytes(); Error{launch}.
  void prepare(const TensorView& weight, const std::optional<TensorView>& pointwise_weight, std::span<std::byte> packed,
               void* stream) const;

  /// Starts output = activation(convolution of input + residual) on `stream`. Dynamic dimensions are taken from the
  /// input. `workspace` is memory of at least workspace_bytes() that is this call's alone until it is done.
  ///
  /// Throws Error{usage} naming the tensor: one that is missing or not the problem's; whose shape, type or strides do
  /// not fit; at an address that is no multiple of its element's size, or that needs the option `strided`; an output
  /// two of whose elements share memory; an output or a workspace with any byte, between its first and its last, that
  /// lies so in another tensor. Throws Error{launch}, also for an earlier call's failure that the driver reports late.
  void run(const DeviceViews& tensors, std::span<std::byte> workspace, void* stream) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace tapconv
