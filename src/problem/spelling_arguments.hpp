#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "problem/spelling_cursor.hpp"
#include "problem/validity.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// A problem that is being read.
struct Draft {
  std::string layer;  ///< as written: "Conv2d" or a published name
  Problem problem;
  bool same_padding = false;
  std::map<Field, std::array<std::size_t, max_rank>> places;  ///< where each field was written, per axis
};

/// Reads "(...)": PyTorch's arguments of a convolution of the draft's rank.
void read_arguments(Cursor& cursor, Draft& draft);

/// Reads "(...)": the keyword arguments that may follow a published name.
void read_variation(Cursor& cursor, Draft& draft);

/// Reads what follows '@': 8x64x512x256 or (8, 64, 512, 256).
void read_shape(Cursor& cursor, Draft& draft);

}  // namespace tapconv
