#pragma once

#include <cstdint>

#include "io/file.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv::io {

/// The tensor whose elements lie in `file` from byte `offset` on, dense and all within the file. `layout` is what it
/// looks like; its data is ignored. Mapped into memory, or copied if `offset` is not aligned for the type. Throws
/// Error{environment}, Error{memory}.
[[nodiscard]] Tensor elements_in(const InputFile& file, std::uint64_t offset, TensorView layout);

/// Appends the elements in the order of their indices. The view is one that checked_strides() returned the strides of.
/// Throws Error{environment}.
void write_elements(AtomicFile& file, const TensorView& tensor);

}  // namespace tapconv::io
