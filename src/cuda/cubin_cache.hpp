#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cache_settings.hpp"
#include "cuda/cubin_folder.hpp"
#include "cuda/once_map.hpp"

namespace tapconv::cuda {

/// Cubins on the disk: a folder that is written, with read-only ones under it. Nothing that is wrong with them is an
/// error: an entry that is bad counts as missing and is written anew, an entry that cannot be written is not kept, and
/// a warning says so: one for each bad entry, one for all that cannot be written. Threads may share a cache, processes
/// its folders.
class CubinCache {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// Warnings go to the log unless `warn` takes them.
  explicit CubinCache(CacheSettings settings, Warn warn = {});

  /// That of the environment, which is read at the first call.
  static CubinCache& get();

  struct Obtained {
    CubinEntry entry;
    bool from_disk = false;
  };

  /// The entry of the first folder that has it, else what `make` returns, which is published. Threads that ask for one
  /// key at a time share one attempt. Throws what `make` throws.
  [[nodiscard]] Obtained obtain(std::string_view architecture, const Digest& key,
                                const std::function<CubinEntry()>& make);

  /// The entry of the first folder that has it. In the written folder it counts as used now.
  [[nodiscard]] std::optional<CubinEntry> find(std::string_view architecture, const Digest& key);

  /// Writes an entry, if there is a folder to write.
  void publish(std::string_view architecture, const Digest& key, const CubinEntry& entry);

  [[nodiscard]] const std::optional<CubinFolder>& written() const noexcept { return written_; }
  [[nodiscard]] const std::vector<CubinFolder>& read_only() const noexcept { return read_only_; }
  [[nodiscard]] std::uint64_t max_bytes() const noexcept { return max_bytes_; }

 private:
  /// Keys are digests already: any of their bytes hash.
  struct Hash {
    std::size_t operator()(const Digest& key) const noexcept;
  };

  std::optional<CubinEntry> read(const CubinFolder& folder, std::string_view architecture, const Digest& key,
                                 bool touch);

  std::optional<CubinFolder> written_;
  std::vector<CubinFolder> read_only_;
  std::uint64_t max_bytes_;
  Warn warn_;
  std::mutex mutex_;
  std::set<std::filesystem::path> known_bad_;  ///< entries that a warning was about and that are still there
  std::atomic<bool> unwritable_ = false;       ///< publishing failed: told once, and not tried again
  OnceMap<Digest, Obtained, Hash, std::equal_to<>> being_made_{
      OnceMap<Digest, Obtained, Hash, std::equal_to<>>::Keeps::while_made};
};

}  // namespace tapconv::cuda
