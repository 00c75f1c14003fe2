#include "cuda/included_files.hpp"

#include <algorithm>

namespace tapconv::cuda {
namespace {

void skip_blanks(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size())); }

/// What `text`, the rest of a directive behind its '#', includes in quotes; empty if it is no such directive.
std::string_view included_name(std::string_view text) {
  constexpr std::string_view word = "include";
  skip_blanks(text);
  if (!text.starts_with(word)) return {};
  text.remove_prefix(word.size());
  skip_blanks(text);
  if (!text.starts_with('"')) return {};
  text.remove_prefix(1);
  const std::size_t end = text.find_first_of("\"\n");
  return end == std::string_view::npos ? std::string_view{} : text.substr(0, end);
}

void collect(std::string_view text, std::span<const EmbeddedFile> files, std::vector<EmbeddedFile>& found) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1)) {
    const std::string_view name = included_name(text.substr(at + 1));
    const auto file = std::ranges::find(files, name, &EmbeddedFile::path);
    if (file == files.end() || std::ranges::find(found, name, &EmbeddedFile::path) != found.end()) continue;
    found.push_back(*file);
    collect(file->text, files, found);
  }
}

}  // namespace

std::vector<EmbeddedFile> included_files(std::string_view text, std::span<const EmbeddedFile> files) {
  std::vector<EmbeddedFile> found;
  collect(text, files, found);
  std::ranges::sort(found, {}, &EmbeddedFile::path);
  return found;
}

}  // namespace tapconv::cuda
