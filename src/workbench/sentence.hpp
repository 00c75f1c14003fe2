#pragma once

#include <string>

#include "tapconv/workbench.hpp"

namespace tapconv {

/// What is wrong with the outputs of a case of `problem`, a clause; empty if nothing is.
[[nodiscard]] std::string fault_of(const CheckCase& item, const Problem& problem);

/// The verdict of a finished report in words: whether the result is right, and if it differs from the reference, why.
[[nodiscard]] std::string sentence(const CheckReport& report);

}  // namespace tapconv
