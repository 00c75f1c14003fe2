#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tapconv::cuda {

/// Where the cubin cache lies.
struct CacheSettings {
  std::optional<std::filesystem::path> written;      ///< looked at first, and written; nothing: nothing is kept
  std::vector<std::filesystem::path> read_only;      ///< looked at next, in this order
  std::uint64_t max_bytes = std::uint64_t{1} << 30;  ///< of the written folder
};

/// The environment variables that matter here; nothing where one is not set.
struct CacheEnvironment {
  std::optional<std::string> cache_dir;        ///< TAPCONV_CACHE_DIR
  std::optional<std::string> cache_max_bytes;  ///< TAPCONV_CACHE_MAX_BYTES
  std::optional<std::string> xdg_cache_home;   ///< XDG_CACHE_HOME
  std::optional<std::string> home;             ///< HOME
};

[[nodiscard]] CacheEnvironment cache_environment();

/// TAPCONV_CACHE_DIR names folders separated by colons: the first is written, the others are read-only; an empty first
/// one leaves only those, and an empty value turns the cache off. Without it, $XDG_CACHE_HOME/tapconv is written if
/// that is an absolute path, else $HOME/.cache/tapconv, else nothing. Relative folders are taken from the present
/// working directory. A TAPCONV_CACHE_MAX_BYTES that is no whole number is told of and ignored.
[[nodiscard]] CacheSettings cache_settings(const CacheEnvironment& environment);

}  // namespace tapconv::cuda
