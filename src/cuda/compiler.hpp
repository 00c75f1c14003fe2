#pragma once

#include <span>
#include <string>
#include <vector>

#include "cuda/driver.hpp"

namespace tapconv::cuda {

class CubinCache;

/// A kernel to compile: one translation unit with one `extern "C" __global__` entry.
struct KernelSource {
  std::string text;  ///< includes the library's headers by name: #include "tapconv/direct.cuh"
  std::string entry;
};

/// What NVRTC made of a source.
struct Compiled {
  std::vector<char> image;  ///< a cubin
  std::string log;          ///< the compiler's output: warnings, then registers, spills and shared memory
  double seconds = 0;       ///< that it took to compile it, or to find it
  bool from_cache = false;  ///< found on the disk (docs/cache.md)
};

/// Compiles for a compute capability like 80 or "90a" (as NVRTC's sm_ suffix), whatever the cache holds. Needs no GPU.
/// Any number of threads may compile at a time. Throws Error{environment} without NVRTC, Error{compile} with the
/// compiler's full output.
[[nodiscard]] Compiled compile(const KernelSource& source, const std::string& architecture);

/// The same from the cache on the disk, and compiled only if it is not there. Threads that ask for the same at a time
/// share one attempt.
[[nodiscard]] Compiled compiled(const KernelSource& source, const std::string& architecture);
[[nodiscard]] Compiled compiled(CubinCache& cache, const KernelSource& source, const std::string& architecture);

/// NVRTC's version, "13.0".
[[nodiscard]] std::string compiler_version();

/// The architecture to compile for on a device: "80", "89", and from Hopper on with the suffix that the
/// architecture's own instructions need, "90a", "100a", "120a".
[[nodiscard]] std::string architecture(const DeviceFacts& device);

/// The kernel of `source` on `context`, compiled() and loaded at first use and kept for the life of the process.
/// Threads that ask for the same kernel wait for one attempt; its error reaches them all, and the next to ask tries
/// anew. Never null.
[[nodiscard]] const Kernel* load(const Context& context, const KernelSource& source);

/// load() of each, in this order, on all cores. The first error is thrown after every attempt has ended.
[[nodiscard]] std::vector<const Kernel*> load_all(const Context& context, std::span<const KernelSource> sources);

}  // namespace tapconv::cuda
