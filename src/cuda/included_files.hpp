#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "problem/embedded.hpp"

namespace tapconv::cuda {

/// Those of `files` that `text` includes by `#include "PATH"`, and those that they include, in the order of their
/// paths. An include within a comment counts too; names that are not among `files` are left for the compiler to report.
[[nodiscard]] std::vector<EmbeddedFile> included_files(std::string_view text, std::span<const EmbeddedFile> files);

}  // namespace tapconv::cuda
