#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workbench/diagnosis_recomputation.hpp"

namespace tapconv {

/// One way in which a computation may have gone wrong.
struct Suspicion {
  std::string cause;  ///< a stable identifier
  std::string said;   ///< what happened and what to do; no full stop
  Variant variant;    ///< that computes so
};

/// The variant that deviates in nothing: the problem with the rounding that its contract declares.
[[nodiscard]] Variant faithful(const Problem& problem);

/// The noun of an axis of a Place: "image", "channel", "slice", "row", "column"; of a problem of rank 1 "position".
[[nodiscard]] std::string_view axis_noun(const Problem& problem, std::size_t axis);
/// The letter of a spatial axis: D, H, W.
[[nodiscard]] std::string_view axis_letter(const Problem& problem, int axis);

/// Spatial axes that deviate together, and how to say so: "along every axis", "along H".
struct AxisChoice {
  std::vector<int> axes;
  std::string said;
};
/// All of the axes where `applies` holds, if they are several, and each of them alone.
[[nodiscard]] std::vector<AxisChoice> axis_choices(const Problem& problem, const std::function<bool(int)>& applies);

/// Everything that is suspected without a look at the result, the simplest first.
[[nodiscard]] std::vector<Suspicion> all_suspicions(const Problem& problem);

/// Its parts: the filter read otherwise; other parameters; channels and groups mixed; bias, residual, activation and
/// scale; outputs and inputs elsewhere; operands rounded otherwise.
[[nodiscard]] std::vector<Suspicion> filter_suspicions(const Problem& problem);
[[nodiscard]] std::vector<Suspicion> parameter_suspicions(const Problem& problem);
[[nodiscard]] std::vector<Suspicion> group_suspicions(const Problem& problem);
[[nodiscard]] std::vector<Suspicion> epilogue_suspicions(const Problem& problem);
[[nodiscard]] std::vector<Suspicion> place_suspicions(const Problem& problem);
[[nodiscard]] std::vector<Suspicion> rounding_suspicions(const Problem& problem);

}  // namespace tapconv
