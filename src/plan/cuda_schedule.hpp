#pragma once

#include <vector>

#include "plan/cuda_variants.hpp"
#include "plan/device_tensors.hpp"

namespace tapconv {

struct CudaLaunch {
  const cuda::Kernel* kernel = nullptr;
  cuda::LaunchShape shape;
};

/// One stage's launches, all with the same arguments.
struct CudaStageLaunches {
  shared::Sizes sizes;
  std::optional<std::size_t> packed_offset;
  std::vector<CudaLaunch> launches;
};

/// Everything that a call at certain sizes and strides does, but for the pointers.
class CudaSchedule {
 public:
  /// Of `sized`, the variant's problem at any sizes of its dynamic dimensions, `images` images at a time. `strides` is
  /// null for dense tensors.
  CudaSchedule(const CudaVariant& variant, const Problem& sized, std::int64_t images, const DeviceStrides* strides);

  /// Throws Error{usage} naming the tensor unless every pass finds its tensors aligned for the kernels.
  void expect_aligned(const DeviceTensors& tensors) const;
  [[nodiscard]] bool is_aligned(const DeviceTensors& tensors) const;

  /// Throws Error{launch} if a launch would break a limit of the device.
  void expect_legal(const cuda::DeviceFacts& device) const;

  /// `tensors.packed` holds what some stages read in place of the weights. Throws Error{launch}.
  void run(const DeviceTensors& tensors, void* workspace, void* stream) const;

  /// Of a pass of `images` images.
  [[nodiscard]] const std::vector<CudaStageLaunches>& stages() const { return whole_; }
  [[nodiscard]] std::int64_t passes() const { return (batch_ - 1) / images_ + 1; }

 private:
  void run_pass(const std::vector<CudaStageLaunches>& stages, std::int64_t first, const DeviceTensors& tensors,
                void* workspace, void* stream) const;

  std::int64_t batch_, images_;
  std::int64_t input_image_bytes_, output_image_bytes_, residual_image_bytes_;  // from image to image
  int input_alignment_ = 1, output_alignment_ = 1;
  std::vector<CudaStageLaunches> whole_;  // of a pass of images_
  std::vector<CudaStageLaunches> rest_;   // of the last pass, if it has fewer
};

}  // namespace tapconv
