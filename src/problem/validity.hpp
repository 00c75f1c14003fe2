#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tapconv/problem.hpp"

namespace tapconv {

/// The parts of a problem that a person writes, by PyTorch's names.
enum class Field {
  kind,
  rank,
  batch,
  input,
  in_channels,
  out_channels,
  kernel_size,
  stride,
  padding,
  output_padding,
  dilation,
  groups,
  depth_multiplier,
  bias,
  padding_mode,
  dtype,
  out_dtype,
  layout,
  math,
  rounding,
  residual,
  activation,
  negative_slope,
  dynamic,
};

[[nodiscard]] std::string_view name(Field field) noexcept;

/// What makes a problem invalid, and the place to correct it.
struct Violation {
  Field field;
  int axis;  ///< 0 for fields without axes
  std::string message;
};

/// The first rule of validate() that `problem` breaks.
[[nodiscard]] std::optional<Violation> find_violation(const Problem& problem);

}  // namespace tapconv
