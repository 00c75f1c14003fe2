#include "problem/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace tapconv {
namespace {

constexpr std::array<std::string_view, 5> names = {"off", "error", "warning", "info", "debug"};

LogLevel level_of_environment() {
  const char* const text = std::getenv("TAPCONV_LOG");
  if (!text) return LogLevel::warning;
  if (const auto level = parse_log_level(text)) return *level;
  write_log(LogLevel::warning,
            fmt::format("TAPCONV_LOG = {}; valid: off, error, warning, info, debug; taken as warning", text));
  return LogLevel::warning;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) noexcept {
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::nullopt;
  return static_cast<LogLevel>(found - names.begin());
}

LogLevel log_level() {
  static const LogLevel level = level_of_environment();
  return level;
}

std::string log_line(LogLevel level, std::string_view message) {
  std::string line = fmt::format("tapconv: {}: {}", names[static_cast<std::size_t>(level)], message);
  std::ranges::replace(line, '\n', ' ');
  return line + '\n';
}

void write_log(LogLevel level, std::string_view message) {
  const std::string line = log_line(level, message);
  // What cannot be told is lost: there is nobody to tell that either.
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace tapconv
