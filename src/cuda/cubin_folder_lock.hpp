#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "io/file.hpp"

namespace tapconv::cuda {

/// Held while entries are added to or removed from a folder, by one thread of one process. The lock's file holds the
/// bytes of all entries as a number, so that a writer need not look at each.
class CubinFolderLock {
 public:
  /// Waits for another holder, at most 5 s. Throws Error{environment}.
  explicit CubinFolderLock(const std::filesystem::path& folder);

  /// What was set last; nothing in a new or damaged file.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const;

  /// Throws Error{environment}.
  void set_total_bytes(std::uint64_t bytes) const;

 private:
  std::filesystem::path path_;
  io::Descriptor descriptor_;
};

}  // namespace tapconv::cuda
