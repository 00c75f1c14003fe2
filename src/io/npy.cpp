#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "io/elements.hpp"
#include "io/file.hpp"
#include "io/npy_header.hpp"
#include "problem/tensor_shape.hpp"
#include "problem/text.hpp"

namespace tapconv::io {
namespace {

std::vector<std::int64_t> strides_of(const NpyHeader& header) {
  if (!header.fortran_order) return tapconv::strides_of(header.shape, Layout::contiguous);
  std::vector<std::int64_t> reversed(header.shape.rbegin(), header.shape.rend());
  reversed = tapconv::strides_of(reversed, Layout::contiguous);
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const std::string name = path.string();
  const InputFile file(path);
  if (file.bytes() < npy_preamble_bytes) {
    fail(ErrorCode::usage, "{}: not a .npy file: {} bytes are too few", name, file.bytes());
  }
  std::array<std::byte, npy_preamble_bytes> start;
  file.read(0, start);
  const NpyPreamble preamble = parse_npy_preamble(start, name);
  if (preamble.header_bytes > file.bytes() - preamble.header_offset) {
    fail(ErrorCode::usage, "{}: the header declares a length of {} bytes, but the file has only {} after byte {}", name,
         preamble.header_bytes, file.bytes() - preamble.header_offset, preamble.header_offset);
  }
  std::string text(preamble.header_bytes, '\0');
  file.read(preamble.header_offset, std::as_writable_bytes(std::span(text)));

  const NpyHeader header = parse_npy_header(text, name);
  const auto count = static_cast<std::uint64_t>(checked_count(header.shape, header.dtype, name));
  const std::uint64_t data_offset = preamble.header_offset + preamble.header_bytes;
  const std::uint64_t declared_bytes = count * element_bytes(header.dtype);
  if (const std::uint64_t present_bytes = file.bytes() - data_offset; present_bytes != declared_bytes) {
    fail(ErrorCode::usage, "{}: the shape declares {} bytes of values, but {} follow the header", name, declared_bytes,
         present_bytes);
  }
  return elements_in(file, data_offset, {nullptr, header.dtype, header.shape, strides_of(header)});
}

void write_npy(const std::filesystem::path& path, const TensorView& tensor) {
  const std::string name = path.string();
  const TensorView view{tensor.data, tensor.dtype, tensor.shape, checked_strides(tensor, name)};
  const std::string header = format_npy_header({view.dtype, false, view.shape}, name);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  write_elements(file, view);
  file.commit();
}

}  // namespace tapconv::io
