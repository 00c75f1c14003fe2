#include "cuda/inlined.hpp"

#include <algorithm>
#include <set>

#include "problem/embedded.hpp"
#include "problem/text.hpp"

namespace tapconv::cuda {
namespace {

std::string_view header_text(std::string_view path) {
  const auto files = kernel_files();
  const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
  if (found == files.end()) fail(ErrorCode::internal, "kernel header {} is not embedded in the library", path);
  return found->text;
}

/// The path in `#include "path"`; empty for any other line.
std::string_view included(std::string_view line) {
  constexpr std::string_view directive = "#include \"";
  if (!line.starts_with(directive)) return {};
  line.remove_prefix(directive.size());
  return line.substr(0, line.find('"'));
}

void append(std::string& result, std::string_view text, std::set<std::string_view>& seen) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (const std::string_view path = included(line); !path.empty()) {
      if (seen.insert(path).second) append(result, header_text(path), seen);
    } else if (line != "#pragma once") {
      result.append(line) += '\n';
    }
  }
}

}  // namespace

std::string inlined(std::string_view source) {
  std::string result;
  std::set<std::string_view> seen;
  append(result, source, seen);
  return result;
}

}  // namespace tapconv::cuda
