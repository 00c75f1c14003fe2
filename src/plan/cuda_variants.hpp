#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/planner.hpp"

namespace tapconv {

/// What a plan is made for beside dense, aligned tensors.
struct CudaPlanOptions {
  /// Most bytes of workspace; none: as many as whole batches need.
  std::optional<std::size_t> workspace_limit{};
  bool strided = false;  ///< tensors of any strides, aligned to their elements alone, are taken too
  bool packed = false;   ///< the weights come as prepare() packed them
  Chooser chooser = choose_by_default;
};

/// One launch of a stage: the solver's kernel, or that of the outputs that no tap reaches.
struct CudaStep {
  const cuda::Kernel* kernel = nullptr;  ///< null until loaded
  KernelPlan plan;
};

/// One plain problem of a plan.
struct CudaStage {
  Task task;
  Choice choice;
  std::vector<CudaStep> steps{};
  std::optional<std::size_t>
      packed_offset{};  ///< of its weights in the packed ones, in bytes; none: it reads plain ones
};

/// The stages of a problem as kernels for one sort of tensors.
struct CudaVariant {
  bool strided = false;  ///< takes any strides and alignment; else dense, aligned tensors alone
  bool wide = false;     ///< takes any sizes; else those of is_narrow() alone
  std::vector<CudaStage> stages{};
};

/// The weights of one stage, packed before or in each run for all variants that chose the same configuration.
struct CudaPacking {
  std::size_t stage = 0;  ///< 0, or 1 for the pointwise half
  const Solver* solver = nullptr;
  bool strided = false;                  ///< reads weights of any strides; else dense ones alone
  std::size_t offset = 0;                ///< where to, in the packed weights; a multiple of 256
  const cuda::Kernel* kernel = nullptr;  ///< null until loaded
  KernelPlan::Packing plan{};
  shared::Sizes sizes{};  ///< of the stage, for dense weights
};

/// Everything that has to be compiled for a problem. The first variant that takes a call's tensors and sizes is the one
/// to use: see find().
struct CudaVariants {
  std::vector<CudaVariant> variants{};
  std::vector<CudaPacking> packings{};
  std::size_t packed_bytes = 0;  ///< a multiple of 256

  /// Null if there is none.
  [[nodiscard]] const CudaVariant* find(bool strided, bool wide) const;
};

/// Plans a problem without loading anything. Needs no GPU.
///
/// A problem with dynamic dimensions gets kernels that count in 32 bits, and beside them such that count in 64 if its
/// example needs them or the device's memory could hold tensors that do. What is compiled depends on the example of a
/// dynamic dimension only through that and the configurations that the cost models choose. Variants choose the first
/// one's configuration where they can, so that they share packed weights and add in the same order (but where channels
/// are read several at a time, which strided tensors do not allow: see KernelPlan::k_order).
///
/// Without the option `packed`, kernels that read none but packed weights are chosen too: their weights are packed in
/// every run, at the beginning of its workspace. Not under a limit that has no room for them beside one image's value.
///
/// Throws Error{usage} if no solver takes the problem or the workspace's limit is below one image.
[[nodiscard]] CudaVariants plan_variants(const Problem& problem, const CudaPlanOptions& options,
                                         const DeviceModel& device);

/// Bytes of the value between the stages for one image of `problem`; 0 where there is none.
[[nodiscard]] std::size_t image_workspace_bytes(const Problem& problem);

/// How many images of `problem` go through the stages at a time: the batch in the fewest passes that keep to the limit,
/// as even as they can be. Throws Error{usage} if the limit is below one image.
[[nodiscard]] std::int64_t images_per_pass(const Problem& problem, const std::optional<std::size_t>& workspace_limit);

/// Whether kernels that count in 32 bits compute `images` images of `problem` at a time.
[[nodiscard]] bool counts_in_32_bits(const Problem& problem, std::int64_t images);

}  // namespace tapconv
