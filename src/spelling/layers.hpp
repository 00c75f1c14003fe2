#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "problem/validity.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// A layer by PyTorch's name.
struct Layer {
  std::string_view name;
  Kind kind;
  int rank;
};

/// The layer of that name, or null.
[[nodiscard]] const Layer* find_layer(std::string_view name);

/// The layer that computes problems of that kind and rank.
[[nodiscard]] const Layer& layer_of(Kind kind, int rank);

/// The name of every layer.
[[nodiscard]] std::vector<std::string_view> layer_names();

/// What may stand in the parentheses after a name, in the order of the canonical spelling.
struct Signature {
  std::span<const Field> fields;
  std::size_t positional = 0;  ///< how many of the first ones may go without a keyword
  std::size_t required = 0;    ///< how many of the first ones must be given
};

/// Of a layer: PyTorch's arguments in PyTorch's order, then those that PyTorch gives elsewhere.
[[nodiscard]] Signature layer_signature(Kind kind);

/// Of a named problem: what changes no size of the layer.
[[nodiscard]] Signature variation_signature();

/// The names of `fields`.
[[nodiscard]] std::vector<std::string_view> names(std::span<const Field> fields);

}  // namespace tapconv
