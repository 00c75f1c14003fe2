#pragma once

#include <memory>
#include <vector>

#include "engine/cuda_tensors.hpp"

namespace tapconv {

/// Every cuDNN configuration for the problem: both layouts, 1-D as height 1 and as width 1,
/// a bias fused and added after; TF32 engines only if the contract is
/// tf32, as PyTorch's allow_tf32 does. None has been tried: prepare() throws where cuDNN cannot run one. The problem's
/// contract is what the library is given to meet. Throws Error{environment} without cuDNN.
[[nodiscard]] std::vector<std::unique_ptr<Executable>> cudnn_references(const Problem& problem, CudaTensors& tensors);

/// What PyTorch runs by default: contiguous tensors, TF32 allowed, the first of cuDNN's choices that runs, the bias
/// added after.
[[nodiscard]] std::unique_ptr<Executable> cudnn_default(const Problem& problem, CudaTensors& tensors);

}  // namespace tapconv
