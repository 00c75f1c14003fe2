#pragma once

#include <map>
#include <string>

#include "cuda/driver.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {

/// What a CUDA device sustains now, by name with the unit in it: copy_TB_per_s (bytes read plus written),
/// ffma_TFLOP_per_s, and on Hopper tf32_TFLOP_per_s and bf16_TFLOP_per_s (wgmma from shared memory on random data).
/// Medians of bursts of a few milliseconds.
[[nodiscard]] std::map<std::string, double> measure_cuda(const cuda::Context& context, const Progress& progress);

/// The same for this CPU: copy_GB_per_s and, with the CPU engine, convolution_GFLOP_per_s (a 1x1 convolution that is
/// all arithmetic).
[[nodiscard]] std::map<std::string, double> measure_cpu(const Progress& progress);

}  // namespace tapconv
