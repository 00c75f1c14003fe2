#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tapconv {

/// How much is told on standard error; each level includes those before it.
enum class LogLevel { off, error, warning, info, debug };

/// Reads "off", "error", "warning", "info" or "debug".
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text) noexcept;

/// What the environment variable TAPCONV_LOG says, `warning` without it. It is read once; an unknown value counts as
/// `warning`, and a line says so.
[[nodiscard]] LogLevel log_level();

/// "tapconv: warning: MESSAGE" and a newline; line breaks within the message become blanks.
[[nodiscard]] std::string log_line(LogLevel level, std::string_view message);

/// Writes that line in one piece, so that lines of several threads or processes do not mix. Never throws for a standard
/// error that cannot be written.
void write_log(LogLevel level, std::string_view message);

/// Tells a formatted message of this `level` (not `off`) if log_level() includes it.
template <class... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  if (level <= log_level()) write_log(level, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace tapconv
