#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cuda/sha256.hpp"
#include "problem/embedded.hpp"

namespace tapconv::cuda {

/// Of the files of the cubin cache. It is part of every key and names the folder; raise it when an entry's bytes, the
/// making of keys or the meaning of a part of them changes.
inline constexpr int cache_format = 1;

/// Everything that decides which cubin a compilation gives.
struct CubinIngredients {
  std::string_view compiler_version;
  std::string_view architecture;  ///< "90a"
  std::span<const std::string> options;
  std::string_view entry;
  std::string_view text;
  std::span<const EmbeddedFile> headers;  ///< those that `text` reaches, in the order of their paths
};

/// SHA-256 over cache_format and the ingredients, each with its length, so that no two lists of them run together.
[[nodiscard]] Digest cubin_key(const CubinIngredients& ingredients);

}  // namespace tapconv::cuda
