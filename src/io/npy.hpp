#pragma once

#include <filesystem>

#include "tapconv/tensor.hpp"

namespace tapconv::io {

/// Reads a `.npy` file of format 1.0 to 3.0, in C or Fortran order, as read_tensor() says, whatever the file is called.
[[nodiscard]] Tensor read_npy(const std::filesystem::path& path);

/// Writes a `.npy` file of format 1.0 in C order, as write_tensor() says.
void write_npy(const std::filesystem::path& path, const TensorView& tensor);

}  // namespace tapconv::io
