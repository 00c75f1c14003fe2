#include <algorithm>
#include <chrono>
#include <limits>

#include "cuda/cubin_cache.hpp"
#include "tapconv/cache.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using cuda::CubinCache;
using cuda::CubinFolder;
using cuda::StoredCubin;

/// The written folder first.
std::vector<CubinFolder> folders_of(const CubinCache& cache) {
  std::vector<CubinFolder> folders;
  if (cache.written()) folders.push_back(*cache.written());
  folders.insert(folders.end(), cache.read_only().begin(), cache.read_only().end());
  return folders;
}

/// Of an entry whose content has not been looked at.
CachedKernel described(const StoredCubin& stored) {
  using Seconds = std::chrono::duration<double>;
  CachedKernel kernel;
  kernel.path = stored.path.string();
  kernel.key = cuda::hex(stored.key);
  kernel.architecture = "sm_" + stored.architecture;
  kernel.bytes = stored.bytes;
  // A clock that was set back gives no time at all.
  kernel.unused_s = std::max(0.0, Seconds(std::filesystem::file_time_type::clock::now() - stored.last_used).count());
  return kernel;
}

/// Calls visit(entry, its description) on every entry; what visit() throws becomes the description's fault. Passes over
/// entries that are removed meanwhile.
template <class Visit>
std::vector<CachedKernel> examined(const CubinFolder& folder, const Visit& visit) {
  std::vector<CachedKernel> kernels;
  std::vector<StoredCubin> entries = folder.entries();
  std::ranges::reverse(entries);
  for (const StoredCubin& stored : entries) {
    CachedKernel kernel = described(stored);
    try {
      visit(stored, kernel);
    } catch (const Error& error) {
      std::error_code gone;
      if (!std::filesystem::exists(stored.path, gone)) continue;
      kernel.fault = error.what();
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

template <class Visit>
CacheReport report(const Visit& visit) {
  const CubinCache& cache = CubinCache::get();
  CacheReport result;
  result.max_bytes = cache.max_bytes();
  for (const CubinFolder& folder : folders_of(cache)) {
    const bool written = cache.written() && result.folders.empty();
    result.folders.push_back({.path = folder.root().string(), .written = written, .kernels = examined(folder, visit)});
  }
  return result;
}

/// Whether `folder` has this entry, and it is good.
bool has(const CubinFolder& folder, const StoredCubin& stored) {
  try {
    (void)cuda::read_entry(io::InputFile(folder.path(stored.architecture, stored.key)), stored.key);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

CacheReport list_cache() {
  return report([](const StoredCubin& stored, CachedKernel& kernel) {
    kernel.entry = cuda::read_entry_name(io::InputFile(stored.path), stored.key);
  });
}

CacheReport verify_cache() {
  return report([](const StoredCubin& stored, CachedKernel& kernel) {
    kernel.entry = cuda::read_entry(io::InputFile(stored.path), stored.key).entry;
  });
}

CachePruning prune_cache(std::optional<std::uint64_t> max_bytes) {
  const CubinCache& cache = CubinCache::get();
  if (!cache.written()) return {};
  const cuda::CubinRemoval removal = cache.written()->prune(max_bytes.value_or(cache.max_bytes()));
  return {.removed = removal.removed,
          .removed_bytes = removal.removed_bytes,
          .kept = removal.kept,
          .kept_bytes = removal.kept_bytes};
}

CacheExport export_cache(const std::string& folder) {
  const CubinFolder target{std::filesystem::path(folder)};
  CacheExport result;
  for (const CubinFolder& source : folders_of(CubinCache::get())) {
    for (const StoredCubin& stored : source.entries()) {
      cuda::CubinEntry entry;
      if (has(target, stored)) {
        ++result.present;
        continue;
      }
      try {
        entry = cuda::read_entry(io::InputFile(stored.path), stored.key);
      } catch (const Error& error) {
        std::error_code gone;
        if (!std::filesystem::exists(stored.path, gone)) continue;
        CachedKernel kernel = described(stored);
        kernel.fault = error.what();
        result.bad.push_back(std::move(kernel));
        continue;
      }
      target.publish(stored.architecture, stored.key, entry, std::numeric_limits<std::uint64_t>::max());
      ++result.copied;
      result.copied_bytes += stored.bytes;
    }
  }
  return result;
}

}  // namespace tapconv
