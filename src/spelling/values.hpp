#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>

#include "problem/validity.hpp"
#include "spelling/cursor.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// A problem that is being read.
struct Draft {
  std::string layer;  ///< as written: "Conv2d" or the name of a problem
  Problem problem;
  bool same_padding = false;                                  ///< padding='same', to be resolved when all is read
  std::map<Field, std::array<std::size_t, max_rank>> places;  ///< where each field was written, per axis

  [[nodiscard]] bool has(Field field) const { return places.contains(field); }
};

/// Reads the value of an argument into the draft, whose kind and rank are known.
void read_value(Cursor& cursor, Draft& draft, Field field);

/// padding='same': what PyTorch adds before and after on each axis. An axis where that is undefined or too large is
/// left for validate().
void pad_to_same(Problem& problem);

/// The value of `field` in the canonical spelling.
[[nodiscard]] std::string spell_value(const Problem& problem, Field field);

}  // namespace tapconv
