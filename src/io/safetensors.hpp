#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "tapconv/tensor.hpp"

namespace tapconv::io {

/// Reads the tensor `name` of a `.safetensors` file, or the only one, as read_tensor() says, whatever the file is
/// called. Other tensors of the file may be of any type.
[[nodiscard]] Tensor read_safetensors(const std::filesystem::path& path, std::optional<std::string_view> name);

/// Writes a `.safetensors` file that holds `tensor` alone, as write_tensor() says. `name` is UTF-8, not empty and not
/// "__metadata__", else throws Error{usage}.
void write_safetensors(const std::filesystem::path& path, std::string_view name, const TensorView& tensor);

}  // namespace tapconv::io
