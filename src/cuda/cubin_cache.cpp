#include "cuda/cubin_cache.hpp"

#include <cstring>
#include <utility>

#include "problem/log.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda {

CubinCache::CubinCache(CacheSettings settings, Warn warn) : max_bytes_(settings.max_bytes), warn_(std::move(warn)) {
  if (settings.written) written_.emplace(std::move(*settings.written));
  for (std::filesystem::path& folder : settings.read_only) read_only_.emplace_back(std::move(folder));
  if (!warn_) warn_ = [](const std::string& message) { log(LogLevel::warning, "{}", message); };
}

CubinCache& CubinCache::get() {
  static CubinCache cache(cache_settings(cache_environment()));
  return cache;
}

CubinCache::Obtained CubinCache::obtain(std::string_view architecture, const Digest& key,
                                        const std::function<CubinEntry()>& make) {
  return being_made_
      .get(key,
           [&]() -> Obtained {
             if (auto found = find(architecture, key)) return {.entry = std::move(*found), .from_disk = true};
             Obtained made{.entry = make(), .from_disk = false};
             publish(architecture, key, made.entry);
             return made;
           })
      .get();
}

std::optional<CubinEntry> CubinCache::find(std::string_view architecture, const Digest& key) {
  std::optional<CubinEntry> found;
  if (written_) found = read(*written_, architecture, key, true);
  for (const CubinFolder& folder : read_only_) {
    if (found) break;
    found = read(folder, architecture, key, false);
  }
  return found;
}

std::optional<CubinEntry> CubinCache::read(const CubinFolder& folder, std::string_view architecture, const Digest& key,
                                           bool touch) {
  const std::filesystem::path path = folder.path(architecture, key);
  // An entry may be removed while it is looked for and be there again at the next look: only what is bad twice is bad.
  for (const bool again : {false, true}) {
    try {
      const io::InputFile file(path);
      CubinEntry entry = read_entry(file, key);
      if (touch) CubinFolder::touch(file);
      log(LogLevel::debug, "{} for sm_{} found in {}", entry.entry, architecture, path.string());
      return entry;
    } catch (const Error& error) {
      // A folder that cannot be looked into has none.
      std::error_code unreadable;
      if (!std::filesystem::exists(path, unreadable)) return std::nullopt;
      if (!again) continue;
      const std::lock_guard lock(mutex_);
      if (known_bad_.insert(path).second) warn_(fmt::format("the cached kernel is compiled anew: {}", error.what()));
    }
  }
  return std::nullopt;
}

void CubinCache::publish(std::string_view architecture, const Digest& key, const CubinEntry& entry) {
  if (!written_ || unwritable_) return;
  try {
    written_->publish(architecture, key, entry, max_bytes_);
    const std::lock_guard lock(mutex_);
    known_bad_.erase(written_->path(architecture, key));
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    // Not tried again: it may have taken seconds.
    if (!unwritable_.exchange(true)) warn_(fmt::format("compiled kernels are not kept: {}", error.what()));
  }
}

std::size_t CubinCache::Hash::operator()(const Digest& key) const noexcept {
  std::size_t hash = 0;
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

}  // namespace tapconv::cuda
