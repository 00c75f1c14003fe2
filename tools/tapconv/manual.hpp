#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapconv::cli {

/// A file of docs/man that the build put into the program.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};

[[nodiscard]] std::span<const EmbeddedFile> manual_files();

/// The manual page of a command, or with "" of tapconv itself: what its --help prints.
[[nodiscard]] std::string_view manual_page(std::string_view command);

/// The first paragraph of that page.
[[nodiscard]] std::string manual_summary(std::string_view command);

/// An item of a page's list of options, "- `--batch N`: Replace the batch. At least 1.".
struct ManualEntry {
  std::string name;     ///< "--batch"; of an operand empty
  std::string value;    ///< "N", "cpu|cuda", "FILE"; of a flag empty
  std::string summary;  ///< its first sentence, without the full stop and back quotes
};

/// The options of a command and its operand, in the page's order.
[[nodiscard]] std::vector<ManualEntry> manual_entries(std::string_view command);

}  // namespace tapconv::cli
