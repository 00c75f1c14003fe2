#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cuda/sha256.hpp"
#include "io/file.hpp"

namespace tapconv::cuda {

/// What the cache keeps of one compilation.
struct CubinEntry {
  std::string entry;        ///< the kernel's name
  std::string log;          ///< the compiler's output
  std::vector<char> image;  ///< the cubin
};

/// An entry as a file: "tapcubin", the key, the sizes of name, log and image (8 bytes each, the least significant byte
/// first), these three, and the SHA-256 of everything before it.
[[nodiscard]] std::vector<std::byte> encode(const Digest& key, const CubinEntry& entry);

/// The reverse. Throws Error{environment} with what is wrong: the magic, the key, the sizes or the checksum.
[[nodiscard]] CubinEntry decode(std::span<const std::byte> bytes, const Digest& key);

/// decode() of a whole file; Error{environment} names it.
[[nodiscard]] CubinEntry read_entry(const io::InputFile& file, const Digest& key);

/// The kernel's name in a file whose key is right and whose sizes fit, without a look at the rest. Throws as
/// read_entry().
[[nodiscard]] std::string read_entry_name(const io::InputFile& file, const Digest& key);

}  // namespace tapconv::cuda
