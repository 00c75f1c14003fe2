#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace tapconv::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// The path of a file that holds these bytes until the next call.
inline const std::string& memory_file(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  return path;
}

}  // namespace tapconv::fuzz
