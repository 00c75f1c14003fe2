#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tapconv/error.hpp"

namespace tapconv {

/// A place in a file, or in a text that is none.
struct FilePlace {
  std::string file;  ///< empty: no file
  std::string_view content;
  std::size_t offset = 0;

  /// "file:line: ", or nothing.
  [[nodiscard]] std::string prefix() const;
};

/// Calls `read`, which reads `text` at `place`; its SpellingErrors then name the place.
auto located(const FilePlace& place, std::string_view text, auto&& read) {
  try {
    return read();
  } catch (const SpellingError& error) {
    if (place.file.empty()) throw;
    const std::string_view message = error.what();
    // The lines after the first show the text, which the new error does again.
    throw SpellingError(place.prefix() + std::string(message.substr(0, message.find('\n'))), text, error.position());
  }
}

}  // namespace tapconv
