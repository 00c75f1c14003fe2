#pragma once

#include "problem/lowering.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// What a kernel is wanted for: a plain problem, and how its tensors may lie.
struct Task {
  Problem problem;                     ///< plain, see stages(); its dtype is that of weights and bias
  DType input_dtype = DType::float32;  ///< problem.dtype, or that of what a stage before left
  /// Tensors with any strides, aligned to their elements alone; else dense in the problem's layout and aligned to 16
  /// bytes.
  bool strided = false;
  bool packed = false;  ///< the weights come as the kernel's own packing left them, see KernelPlan
  bool wide = false;    ///< sizes beyond is_narrow()

  friend bool operator==(const Task&, const Task&) = default;
};

/// The type that sums are made in: float64 for float64 operands, else float32.
[[nodiscard]] DType number_type(const Task& task);

/// Whether coordinates, taps and positions of all images together stay below 2^30, so that 32 bits hold them.
[[nodiscard]] bool is_narrow(const Problem& problem);

/// What the task's kernel is compiled for, of dense tensors with_joined_axes(); 0 where the problem's dynamic
/// dimensions, or strided tensors, leave a number to the launch.
[[nodiscard]] shared::Shape shape_of(const Task& task);

/// What a launch on dense tensors tells the kernel of a task of `problem`; `strided` as the task has it. Strides along
/// absent axes, which no kernel uses, are 1.
[[nodiscard]] shared::Sizes sizes_of(const Problem& problem, bool strided);

}  // namespace tapconv
