#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tapconv {

/// What kind of thing went wrong. The command line maps each kind to its own exit code.
enum class ErrorCode {
  usage,        ///< the caller asked for something malformed or impossible
  compile,      ///< a device kernel did not compile
  launch,       ///< a launch would break, or broke, a limit of the device
  memory,       ///< not enough memory on the host or the device
  environment,  ///< a library, a driver, a device or a file is missing or unusable
  internal,     ///< a broken invariant of Tapconv itself
};

/// The one exception type of the library. `what()` names the offending field, its value and what
/// would be valid.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// An error of kind `usage` that points into the text that caused it: `what()` is the message, the
/// text, and a line with a caret under byte `position`.
class SpellingError : public Error {
 public:
  SpellingError(const std::string& message, std::string_view text, std::size_t position);

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

 private:
  std::size_t position_;
};

}  // namespace tapconv
