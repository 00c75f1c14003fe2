#include "cuda/cache_settings.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "problem/log.hpp"

namespace tapconv::cuda {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

/// As it is if there is no working directory any more.
fs::path made_absolute(const fs::path& path) {
  std::error_code error;
  const fs::path result = fs::absolute(path, error);
  return error ? path : result;
}

void set_folders(std::string_view list, CacheSettings& settings) {
  for (bool first = true;; first = false) {
    const std::size_t colon = list.find(':');
    const std::string_view folder = list.substr(0, colon);
    if (!folder.empty() && first) settings.written = made_absolute(folder);
    if (!folder.empty() && !first) settings.read_only.push_back(made_absolute(folder));
    if (colon == std::string_view::npos) return;
    list.remove_prefix(colon + 1);
  }
}

void set_max_bytes(const std::string& text, CacheSettings& settings) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) {
    settings.max_bytes = value;
    return;
  }
  log(LogLevel::warning, "TAPCONV_CACHE_MAX_BYTES = {}; valid: a whole number of bytes; taken as {}", text,
      settings.max_bytes);
}

}  // namespace

CacheEnvironment cache_environment() {
  return {.cache_dir = variable("TAPCONV_CACHE_DIR"),
          .cache_max_bytes = variable("TAPCONV_CACHE_MAX_BYTES"),
          .xdg_cache_home = variable("XDG_CACHE_HOME"),
          .home = variable("HOME")};
}

CacheSettings cache_settings(const CacheEnvironment& environment) {
  CacheSettings settings;
  if (environment.cache_max_bytes) set_max_bytes(*environment.cache_max_bytes, settings);
  if (environment.cache_dir) {
    set_folders(*environment.cache_dir, settings);
  } else if (environment.xdg_cache_home && fs::path(*environment.xdg_cache_home).is_absolute()) {
    settings.written = fs::path(*environment.xdg_cache_home) / "tapconv";
  } else if (environment.home && !environment.home->empty()) {
    settings.written = made_absolute(fs::path(*environment.home) / ".cache" / "tapconv");
  }
  return settings;
}

}  // namespace tapconv::cuda
