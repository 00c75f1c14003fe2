#pragma once

#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace tapconv::cuda {

/// A kernel to compile: one translation unit with one `extern "C" __global__` entry.
struct KernelSource {
  std::string text;  ///< includes the library's headers by name: #include "tapconv/direct.cuh"
  std::string entry;
};

/// What NVRTC made of a source.
struct Compiled {
  std::vector<char> image;  ///< a cubin
  std::string log;          ///< the compiler's output: warnings, then registers, spills and shared memory
  double seconds = 0;
};

/// Compiles for a compute capability like 90 or "90a" (as NVRTC's sm_ suffix). Needs no GPU. Throws Error{environment}
/// without NVRTC, Error{compile} with the compiler's full output.
[[nodiscard]] Compiled compile(const KernelSource& source, const std::string& architecture);

/// NVRTC's version, "13.0".
[[nodiscard]] std::string compiler_version();

/// The architecture to compile for on a device: "80", "89", and from Hopper on with the suffix that the
/// architecture's own instructions need, "90a", "100a", "120a".
[[nodiscard]] std::string architecture(const DeviceFacts& device);

/// The kernel of `source` on `context`, compiled and loaded at first use and kept for the life of the process.
/// Never null.
[[nodiscard]] const Kernel* load(const Context& context, const KernelSource& source);

}  // namespace tapconv::cuda
