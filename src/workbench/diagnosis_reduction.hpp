#pragma once

#include <vector>

#include "workbench/diagnosis_case.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {

/// Suspicions that products are missing, read off the products of some wrong outputs: an input channel or a tap, or the
/// end or the beginning of the reduction. They are to be tested as others are.
[[nodiscard]] std::vector<Suspicion> reduction_suspicions(const Case& result);

}  // namespace tapconv
