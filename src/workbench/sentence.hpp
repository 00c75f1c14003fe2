#pragma once

#include <string>

#include "tapconv/workbench.hpp"

namespace tapconv {

/// The verdict of a finished report in words: whether the result is right, and if it differs from the reference, why.
[[nodiscard]] std::string sentence(const CheckReport& report);

}  // namespace tapconv
