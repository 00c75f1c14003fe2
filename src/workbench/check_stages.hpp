#pragma once

#include "workbench/check_case.hpp"

namespace tapconv {

/// What a stage works with.
struct StageContext {
  const CheckRequest& request;
  Trial& trial;  ///< of trial_problem()
  Examiner& examiner;
  std::uint64_t seed;  ///< of everything that is drawn
};

// Each runs one stage on the trial and returns what it found; the caller fills in name and problem.

/// Exact integers: every sum that is exact in any order must be the output.
[[nodiscard]] CheckStage check_integers(const StageContext& context);
/// One weight of each output channel, or one input of each group and image, is not zero: the output tells which input
/// or weight was read, and what is wrong is named by it.
[[nodiscard]] CheckStage check_impulses(const StageContext& context);
/// Sparse operands, where bounds bite, and every Distribution.
[[nodiscard]] CheckStage check_distributions(const StageContext& context);
/// Exact integers on neighbours() of the problem. One that the subject refuses is noted.
[[nodiscard]] CheckStage check_neighbours(const StageContext& context);
/// NaNs, infinities, and for `ieee` and `fp64` subnormal numbers.
[[nodiscard]] CheckStage check_special_values(const StageContext& context);
/// The same operands give the same bits, whatever the output held before; nothing but the output is written, and
/// nothing after the end; changed operands at the same addresses give the changed result.
[[nodiscard]] CheckStage check_integrity(const StageContext& context);

/// Enters a case; the stage fails with the first wrong one.
void add_case(CheckStage& stage, CheckCase item, const Problem& problem);

}  // namespace tapconv
