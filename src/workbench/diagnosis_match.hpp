#pragma once

#include <vector>

#include "workbench/diagnosis_case.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {

/// A suspicion that explains a result.
struct Match {
  Suspicion suspicion;
  double distance = 0;  ///< root mean square of what it leaves unexplained
  double coverage = 0;  ///< the share of the samples that it tells something of
  bool exact = true;    ///< within the contract's bound; else the result errs otherwise too, though far less
};

/// Which outputs a suspicion has to explain.
enum class Scope {
  all,         ///< wrong ones and right ones
  wrong_only,  ///< the wrong ones: the deviation is confined to them
};

/// The best explanation and those that cannot be told from it, the simplest first; empty if there is none. Unwritten
/// outputs are left aside.
[[nodiscard]] std::vector<Match> explain(const Case& result, const std::vector<Suspicion>& suspicions, Scope scope);

}  // namespace tapconv
