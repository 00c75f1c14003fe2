#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "io/npy_header.hpp"
#include "tapconv/error.hpp"
#include "tapconv/tensor.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

/// Any bytes are either a tensor that its own header describes or an error of kind `usage`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int file = ::memfd_create("npy_fuzz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  try {
    const tapconv::Tensor tensor = tapconv::read_npy(path);
    require(tapconv::io::npy_value_count(tensor.shape, path) == static_cast<std::int64_t>(tensor.values.size()));
    const std::string start = tapconv::io::format_npy_header(tensor.shape);
    require(tapconv::io::parse_npy_header(start.substr(10), path) == tensor.shape);
  } catch (const tapconv::Error& error) {
    require(error.code() == tapconv::ErrorCode::usage);
  }
  return 0;
}
