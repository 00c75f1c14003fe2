#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/cuda_schedule.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

/// A problem planned for a CUDA device, its kernels loaded. Never changes: any number of threads may run it at a time,
/// each on tensors and a workspace of its own. Nothing but the constructor compiles or allocates device memory, so that
/// everything else can be captured into a graph.
class CudaPlan {
 public:
  /// `problem` is valid; its dynamic dimensions are examples. Throws Error{usage} if no solver takes it or the
  /// workspace's limit is below one image, Error{compile, environment, launch}.
  CudaPlan(const Problem& problem, const cuda::Context& context, const CudaPlanOptions& options = {});

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] const CudaPlanOptions& options() const { return options_; }

  /// Bytes of device memory, aligned to 256, that run() works in at the plan's own sizes, or at those of `sized`: for
  /// the value between the halves of a depthwise separable problem, and for weights that every run packs. Throws
  /// Error{usage} if the limit is below one image.
  [[nodiscard]] std::size_t workspace_bytes() const { return example_workspace_bytes_; }
  [[nodiscard]] std::size_t workspace_bytes(const Problem& sized) const;

  /// Bytes of device memory, aligned to 256, that prepare() writes; 0 without the option `packed`.
  [[nodiscard]] std::size_t packed_bytes() const { return options_.packed ? all_.packed_bytes : 0; }

  /// Starts packing `tensors`' weights into `packed` on `stream`. `strides` is null if the weights are dense. Needs the
  /// option `packed`. Throws Error{usage} for weights that are not dense without the option `strided`, Error{launch}.
  void prepare(const DeviceTensors& tensors, const DeviceStrides* strides, void* packed, void* stream) const;

  /// Starts the convolution on `stream` (a CUstream of any kind), at the plan's own sizes, on dense tensors, without
  /// waiting and without allocating. Throws Error{usage} as below, Error{launch}.
  void run(const DeviceTensors& tensors, void* workspace, void* stream) const {
    run(problem_, tensors, nullptr, workspace, stream);
  }

  /// The same for `sized`, the problem at any sizes of its dynamic dimensions. `strides` is null if every tensor is
  /// dense. Throws Error{usage} for strides or a pointer that need the option `strided`, and for sizes beyond
  /// is_narrow() that this plan has no kernels for, see plan_variants().
  void run(const Problem& sized, const DeviceTensors& tensors, const DeviceStrides* strides, void* workspace,
           void* stream) const;

  /// Of dense tensors at the plan's own sizes.
  [[nodiscard]] const std::vector<CudaStage>& stages() const { return all_.variants[example_variant_].stages; }
  [[nodiscard]] const CudaVariants& variants() const { return all_; }
  [[nodiscard]] std::string solver() const;         ///< the stages' solvers: "direct", or "direct, direct"
  [[nodiscard]] std::string configuration() const;  ///< of each stage, for people

 private:
  void pack(const DeviceTensors& tensors, const DeviceStrides* strides, void* packed, void* stream) const;
  [[nodiscard]] std::size_t packed_in_run() const { return options_.packed ? 0 : all_.packed_bytes; }
  [[nodiscard]] CudaSchedule schedule(const Problem& sized, const DeviceStrides* strides, bool strided) const;

  Problem problem_;
  CudaPlanOptions options_;
  CudaVariants all_;
  std::size_t example_workspace_bytes_ = 0;
  bool example_is_wide_ = false;
  std::size_t example_variant_ = 0;
  std::optional<CudaSchedule> example_;  ///< of dense tensors at the plan's own sizes; set by the constructor
};

}  // namespace tapconv
