#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tapconv/tensor.hpp"

namespace tapconv {

/// Throws Error{usage} naming `field` if it is given although the problem has none, or missing although it has one.
/// `why` is the problem's spelling of that, like "bias=False".
void check_presence(bool given, bool has, std::string_view field, std::string_view why);

/// Throws Error{usage} naming `field` unless the view has data, valid strides, this shape and this type.
void check_operand(const TensorView& view, std::string_view field, const std::vector<std::int64_t>& shape, DType dtype);

/// Whether the elements can be used where they are: dense in `layout`, at a multiple of their size.
[[nodiscard]] bool usable_in_place(const TensorView& view, Layout layout);

/// The elements of a checked view, dense in `layout`: its own memory if that is usable in place, else a copy in
/// `buffer`. Throws Error{memory}.
[[nodiscard]] std::span<const std::byte> dense_operand(const TensorView& view, std::string_view field, Layout layout,
                                                       std::vector<std::byte>& buffer);

/// `buffer` at the size of the dense elements of `view`. Throws Error{memory} naming `field`.
[[nodiscard]] std::span<std::byte> sized_buffer(const TensorView& view, std::string_view field,
                                                std::vector<std::byte>& buffer);

}  // namespace tapconv
