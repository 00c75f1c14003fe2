#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "cuda/cubin_folder.hpp"
#include "temporary_folder.hpp"

namespace tapconv::testing {

/// Keys and entries that differ with their number.
inline cuda::Digest numbered_key(int number) {
  const std::string text = std::to_string(number);
  return cuda::sha256(std::as_bytes(std::span(text)));
}

inline cuda::CubinEntry numbered_entry(int number, std::size_t image_bytes = 1000) {
  return {.entry = "kernel" + std::to_string(number),
          .log = "log",
          .image = std::vector<char>(image_bytes, static_cast<char>(number))};
}

inline std::uint64_t file_bytes(int number, std::size_t image_bytes = 1000) {
  return cuda::encode(numbered_key(number), numbered_entry(number, image_bytes)).size();
}

inline bool is_entry(const cuda::CubinEntry& entry, int number) {
  const cuda::CubinEntry expected = numbered_entry(number, entry.image.size());
  return entry.entry == expected.entry && entry.log == expected.log && entry.image == expected.image;
}

/// Calls body(i) in `count` processes of their own at a time; how many returned false or died.
template <class Body>
int failing_processes(int count, const Body& body) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body(i) ? 0 : 1);
    children.push_back(child);
  }
  int failing = 0;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failing;
  }
  return failing;
}

}  // namespace tapconv::testing
