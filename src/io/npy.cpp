#include <array>
#include <bit>
#include <new>
#include <string>

#include "io/file.hpp"
#include "io/npy_header.hpp"
#include "problem/text.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in the file");

std::vector<float> allocate(std::int64_t count, const std::string& name) {
  try {
    return std::vector<float>(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::memory, "{}: no memory for {} float32 values", name, count);
  }
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const std::string name = path.string();
  const io::InputFile file(path);
  if (file.bytes() < io::npy_preamble_bytes) {
    fail(ErrorCode::usage, "{}: not a .npy file: {} bytes are too few", name, file.bytes());
  }
  std::array<std::byte, io::npy_preamble_bytes> start;
  file.read(0, start);
  const io::NpyPreamble preamble = io::parse_npy_preamble(start, name);
  if (preamble.header_bytes > file.bytes() - preamble.header_offset) {
    fail(ErrorCode::usage, "{}: the header declares a length of {} bytes, but the file has only {} after byte {}", name,
         preamble.header_bytes, file.bytes() - preamble.header_offset, preamble.header_offset);
  }
  std::string header(preamble.header_bytes, '\0');
  file.read(preamble.header_offset, std::as_writable_bytes(std::span(header)));

  Tensor tensor{io::parse_npy_header(header, name), {}};
  const std::int64_t count = io::npy_value_count(tensor.shape, name);
  const std::uint64_t data_offset = preamble.header_offset + preamble.header_bytes;
  const std::uint64_t declared_bytes = static_cast<std::uint64_t>(count) * sizeof(float);
  if (const std::uint64_t present_bytes = file.bytes() - data_offset; present_bytes != declared_bytes) {
    fail(ErrorCode::usage, "{}: the shape declares {} bytes of values, but {} follow the header", name, declared_bytes,
         present_bytes);
  }
  tensor.values = allocate(count, name);
  file.read(data_offset, std::as_writable_bytes(std::span(tensor.values)));
  return tensor;
}

void write_npy(const std::filesystem::path& path, std::span<const std::int64_t> shape, std::span<const float> values) {
  const std::string name = path.string();
  if (const std::int64_t count = io::npy_value_count(shape, name); static_cast<std::size_t>(count) != values.size()) {
    fail(ErrorCode::usage, "{}: {} values were given for a shape of {}", name, values.size(), count);
  }
  const std::string header = io::format_npy_header(shape);
  io::AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write(std::as_bytes(values));
  file.commit();
}

}  // namespace tapconv
