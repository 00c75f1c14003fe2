#pragma once

#include <span>
#include <string_view>

namespace tapconv {

/// A file of this repository that the build put into the library.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};

/// Device code, with paths as kernels include them ("tapconv/direct.cuh").
[[nodiscard]] std::span<const EmbeddedFile> kernel_files();

/// Programs that run in a process of their own, with paths below python/.
[[nodiscard]] std::span<const EmbeddedFile> python_files();

/// data/*.json and data/lists/*.json, with paths below data/.
[[nodiscard]] std::span<const EmbeddedFile> data_files();

}  // namespace tapconv
