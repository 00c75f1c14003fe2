#pragma once

#include <string>
#include <vector>

#include "tapconv/explain.hpp"

namespace tapconv {

/// What to conclude from the predictions of a report, a sentence each: of its problem's contract, and of results that
/// round no operands, which references they agree with.
[[nodiscard]] std::vector<std::string> conclusions(const ExplainReport& report);

}  // namespace tapconv
