#include <string>

#include "io/npy.hpp"
#include "io/npy_header.hpp"
#include "memory_file.hpp"
#include "tapconv/error.hpp"

namespace tapconv::fuzz {
namespace {

void expect_tensor_or_error(const std::string& path) {
  try {
    const Tensor tensor = io::read_npy(path);
    require(tensor.values().size() == static_cast<std::size_t>(tensor.size()));
    const io::NpyHeader header{tensor.dtype(), false, tensor.shape()};
    const std::string start = io::format_npy_header(header, path);
    require(io::parse_npy_header(start.substr(10), path) == header);
  } catch (const Error& error) {
    require(error.code() == ErrorCode::usage);
  }
}

}  // namespace
}  // namespace tapconv::fuzz

/// Any bytes are either a tensor that its own header describes or an error of kind `usage`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tapconv::fuzz::expect_tensor_or_error(tapconv::fuzz::memory_file(data, size));
  return 0;
}
