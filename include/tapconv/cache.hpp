#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tapconv {

// The cache of compiled kernels on the disk (docs/cache.md), as the environment sets it. Nothing here needs a GPU.

/// An entry of the cache.
struct CachedKernel {
  std::string path;          ///< of its file
  std::string key;           ///< 64 hexadecimal digits
  std::string architecture;  ///< "sm_90a"
  std::string entry;         ///< the kernel's name; empty if that cannot be read
  std::uint64_t bytes = 0;   ///< of its file
  double unused_s = 0;       ///< seconds since it was written or used last
  std::string fault;         ///< why the engine would not use it; empty if nothing is known against it
};

struct CacheFolder {
  std::string path;
  bool written = false;               ///< the others are read-only layers under it
  std::vector<CachedKernel> kernels;  ///< those used last first
};

struct CacheReport {
  std::vector<CacheFolder> folders;  ///< in the order in which they are searched; none: the cache is off
  std::uint64_t max_bytes = 0;       ///< of the written folder
};

/// What is in the cache. Only the beginning of each entry is read, and only what is wrong there is a `fault`.
[[nodiscard]] CacheReport list_cache();

/// The same with each entry read and checked as a whole.
[[nodiscard]] CacheReport verify_cache();

struct CachePruning {
  std::uint64_t removed = 0, removed_bytes = 0;  ///< entries and their bytes
  std::uint64_t kept = 0, kept_bytes = 0;
};

/// Removes from the written folder what processes that died left there, the bad entries, and of the others those unused
/// for the longest time until at most `max_bytes` are left (by default the cache's bound; 0 removes all). Other
/// processes may use the cache meanwhile. Throws Error{environment} if something cannot be removed.
CachePruning prune_cache(std::optional<std::uint64_t> max_bytes = std::nullopt);

struct CacheExport {
  std::uint64_t copied = 0, copied_bytes = 0;
  std::uint64_t present = 0;      ///< entries that the folder had already
  std::vector<CachedKernel> bad;  ///< not copied; each has its `fault`
};

/// Copies the good entries of all layers into `folder`, which is made if need be and can then serve as a read-only
/// layer. Each entry appears as a whole. Throws Error{environment} if the folder cannot be written.
CacheExport export_cache(const std::string& folder);

}  // namespace tapconv
