#include "manual.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// `item` is a whole item of the list on one line, without its "- ".
ManualEntry parse_entry(std::string_view item) {
  const std::size_t close = item.find("`: ");
  if (!item.starts_with('`') || close == std::string_view::npos)
    throw Error(ErrorCode::internal, fmt::format("manual: '{}' is no item of a list of options", item));
  std::string_view term = item.substr(1, close - 1), text = item.substr(close + 3);
  // "-h, --help" goes by its long name.
  if (const std::size_t comma = term.find(", "); comma != std::string_view::npos) term.remove_prefix(comma + 2);
  const std::size_t space = term.find(' ');
  ManualEntry entry;
  if (!term.starts_with('-')) {
    entry.value = term;
  } else {
    entry.name = term.substr(0, space);
    if (space != std::string_view::npos) entry.value = term.substr(space + 1);
  }
  entry.summary = text.substr(0, text.find(". "));
  if (entry.summary.ends_with('.')) entry.summary.pop_back();
  std::erase(entry.summary, '`');
  return entry;
}

}  // namespace

std::string_view manual_page(std::string_view command) {
  const std::string path = command.empty() ? "tapconv.md" : fmt::format("tapconv-{}.md", command);
  const auto files = manual_files();
  const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
  if (found == files.end()) throw Error(ErrorCode::internal, fmt::format("manual: docs/man/{} is missing", path));
  return found->text;
}

std::string manual_summary(std::string_view command) {
  std::string summary;
  for (const std::string_view line : lines_of(manual_page(command))) {
    if (line.starts_with('#')) continue;
    if (line.empty() && !summary.empty()) break;
    if (!summary.empty()) summary += ' ';
    summary += line;
  }
  return summary;
}

std::vector<ManualEntry> manual_entries(std::string_view command) {
  std::vector<std::string> items;
  bool inside = false;
  for (const std::string_view line : lines_of(manual_page(command))) {
    if (line.starts_with('#'))
      inside = line == "## Options";
    else if (inside && line.starts_with("- "))
      items.emplace_back(line.substr(2));
    else if (inside && line.starts_with("  "))
      items.back().append(line.substr(1));
  }
  std::vector<ManualEntry> entries;
  for (const std::string& item : items) entries.push_back(parse_entry(item));
  return entries;
}

}  // namespace tapconv::cli
