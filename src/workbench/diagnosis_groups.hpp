#pragma once

#include <vector>

#include "workbench/diagnosis_case.hpp"

namespace tapconv {

/// The groups of outputs whose share of wrong ones is another than that of the rest, the most telling first; a dozen
/// at most.
[[nodiscard]] std::vector<Diagnosis::Group> telling_groups(const Case& result);

}  // namespace tapconv
