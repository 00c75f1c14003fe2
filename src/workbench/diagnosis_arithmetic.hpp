#pragma once

#include <optional>

#include "workbench/diagnosis_patterns.hpp"

namespace tapconv {

/// Of a result without a wrong output: an arithmetic that the contract does not declare, by its fingerprint.
[[nodiscard]] std::optional<Finding> undeclared_rounding(const Case& result);

/// Whether the root mean square of the errors is more than that of an honest sum, by the rule of docs/numerics.md.
[[nodiscard]] bool is_inaccurate(const Case& result);

/// Whether errors are so much larger than those of an honest sum that they may hide a deviation, whatever the contract.
[[nodiscard]] bool is_coarse(const Case& result);

/// Errors that no rounding of operands explains but that are small everywhere: an output rounded once more, sums in
/// short precision or truncated.
[[nodiscard]] std::optional<Finding> poor_accumulation(const Case& result);

}  // namespace tapconv
