#pragma once

#include <string>
#include <string_view>

#include "tapconv/engine.hpp"

namespace tapconv {

/// Throws Error{usage} for a model: there is nothing to compute on. `doing` is a verb, like "run".
void expect_hardware(const Device& device, std::string_view doing);

/// The models that can be planned for, "h200, h100".
[[nodiscard]] std::string model_names();

}  // namespace tapconv
