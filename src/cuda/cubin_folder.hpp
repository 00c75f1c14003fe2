#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/cubin_entry.hpp"

namespace tapconv::cuda {

/// An entry's file as a walk through the folder finds it.
struct StoredCubin {
  std::filesystem::path path;
  std::string architecture;  ///< "90a"
  Digest key{};
  std::uint64_t bytes = 0;
  std::filesystem::file_time_type last_used;
};

/// What a removal of entries did.
struct CubinRemoval {
  std::uint64_t removed = 0, removed_bytes = 0;
  std::uint64_t kept = 0, kept_bytes = 0;
};

/// One folder of entries, v<cache_format>/sm_<architecture>/<key>.cubin under `root`. Safe between threads and
/// processes: entries appear whole, and a lock file keeps writers from passing the bound together. Readers take no
/// lock.
class CubinFolder {
 public:
  explicit CubinFolder(std::filesystem::path root) : root_(std::move(root)) {}

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }
  [[nodiscard]] std::filesystem::path path(std::string_view architecture, const Digest& key) const;

  /// All entries, those unused for the longest time first; empty where the folder is missing or cannot be read. Files
  /// with other names are left out.
  [[nodiscard]] std::vector<StoredCubin> entries() const;

  /// Marks an entry as used now, as far as the system allows.
  static void touch(const io::InputFile& file) noexcept;

  /// Writes an entry, replacing one of that key. Where the folder would hold more than `max_bytes`, those unused for
  /// the longest time go first, so many that a quarter of the bound is free; an entry that is larger than the bound
  /// is not kept. Throws Error{environment}.
  void publish(std::string_view architecture, const Digest& key, const CubinEntry& entry,
               std::uint64_t max_bytes) const;

  /// Removes what processes that died left behind, the bad entries, then those unused for the longest time until at
  /// most `max_bytes` are left. Throws Error{environment} if something cannot be removed.
  [[nodiscard]] CubinRemoval prune(std::uint64_t max_bytes) const;

 private:
  [[nodiscard]] std::filesystem::path version_folder() const;

  std::filesystem::path root_;
};

}  // namespace tapconv::cuda
