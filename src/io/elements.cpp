#include "io/elements.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "problem/tensor_runs.hpp"
#include "problem/tensor_shape.hpp"

namespace tapconv::io {
namespace {

static_assert(std::endian::native == std::endian::little, "values lie in memory as they lie in a file");

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;

Tensor copied(const InputFile& file, std::uint64_t offset, TensorView layout) {
  const auto memory = std::make_shared<Tensor>(layout.dtype, layout.shape);
  void* const data = memory->mutable_view().data;
  const std::size_t bytes = static_cast<std::size_t>(memory->size()) * element_bytes(layout.dtype);
  file.read(offset, {static_cast<std::byte*>(data), bytes});
  layout.data = data;
  return {std::move(layout), memory};
}

/// Collects small pieces, so that a file is written in large ones.
class Chunks {
 public:
  explicit Chunks(AtomicFile& file) : file_(file) { chunk_.reserve(chunk_bytes); }

  void add(std::span<const std::byte> piece) {
    if (chunk_.size() + piece.size() > chunk_bytes) flush();
    if (piece.size() > chunk_bytes) return file_.write(piece);
    chunk_.insert(chunk_.end(), piece.begin(), piece.end());
  }

  void flush() {
    file_.write(chunk_);
    chunk_.clear();
  }

 private:
  AtomicFile& file_;
  std::vector<std::byte> chunk_;
};

}  // namespace

Tensor elements_in(const InputFile& file, std::uint64_t offset, TensorView layout) {
  if (offset % element_bytes(layout.dtype) != 0) return copied(file, offset, std::move(layout));
  const auto mapping = std::make_shared<const MappedFile>(file);
  layout.data = mapping->bytes().data() + offset;
  return {std::move(layout), mapping};
}

void write_elements(AtomicFile& file, const TensorView& tensor) {
  const auto* const data = static_cast<const std::byte*>(tensor.data);
  const auto bytes = static_cast<std::int64_t>(element_bytes(tensor.dtype));
  Chunks chunks(file);
  for_each_run(tensor.shape, tensor.strides, [&](std::int64_t offset, std::int64_t count, std::int64_t stride) {
    const std::int64_t piece = stride == 1 ? count : 1;
    for (std::int64_t i = 0; i < count; i += piece)
      chunks.add({data + (offset + i * stride) * bytes, static_cast<std::size_t>(piece * bytes)});
  });
  chunks.flush();
}

}  // namespace tapconv::io
