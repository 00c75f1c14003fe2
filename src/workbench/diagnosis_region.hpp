#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "workbench/diagnosis_case.hpp"

namespace tapconv {

/// A part of the output with a simple shape.
struct Region {
  enum class Kind {
    everything,
    box,     ///< a range of every axis
    tail,    ///< the end of the output: along axes, or from some output on
    border,  ///< everything but a box that reaches neither end of some spatial axis
    phase,   ///< every so many-th position of an axis
  };
  Kind kind = Kind::everything;
  std::string where;  ///< "rows 64 to 127", "everything"
  bool clamped =
      false;  ///< a tail that begins at a multiple of 65535, the most blocks along the y and z axes of a grid
};

/// Outputs that have something in common, and others that do not.
struct Marks {
  std::vector<Place> marked, others;
  Spread hull;         ///< of those marked
  bool whole = false;  ///< whether `hull` is that of all such outputs of the problem, not of those listed alone
  std::function<bool(const Place&)> is_marked;  ///< of any output
};

/// The region that holds all of `marked` and none of `others`. Its ends are looked for between those listed.
[[nodiscard]] std::optional<Region> find_region(const Case& result, Marks marks);

/// "rows 64 to 127", "channel 3".
[[nodiscard]] std::string range_text(const Problem& problem, std::size_t axis, std::int64_t low, std::int64_t high);

}  // namespace tapconv
