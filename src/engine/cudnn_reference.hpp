#pragma once

#include <memory>
#include <vector>

#include "engine/cuda_tensors.hpp"

namespace tapconv {

/// Every cuDNN configuration for the problem: both layouts (copies in the other one are not timed), 1-D as height 1 and
/// as width 1, a bias fused and added after; engines on tensor cores unless the contract excludes them: ieee, and fp32
/// on float32 tensors. None has been tried: prepare() throws where cuDNN cannot run one. Throws Error{environment}
/// without cuDNN, Error{usage} for a problem that cuDNN cannot express.
[[nodiscard]] std::vector<std::unique_ptr<Executable>> cudnn_references(const Problem& problem, CudaTensors& tensors);

/// What PyTorch asks of cuDNN by default: tensors in the problem's layout, tensor cores allowed, the first of cuDNN's
/// choices that runs, the bias added after.
[[nodiscard]] std::unique_ptr<Executable> cudnn_default(const Problem& problem, CudaTensors& tensors);

}  // namespace tapconv
