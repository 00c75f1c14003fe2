#pragma once

#include <string>
#include <string_view>

#include "solver/device_model.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

/// Throws Error{usage} for a model: there is nothing to compute on. `doing` is a verb, like "run".
void expect_hardware(const Device& device, std::string_view doing);

/// A CUDA device or a model as planning sees it. Throws Error{environment} where there is no CUDA device, Error{usage}
/// for the CPU, which `subject` ("occupancy", say) is not of.
[[nodiscard]] DeviceModel planning_model(const Device& device, std::string_view subject);

/// The models that can be planned for, "h200, h100".
[[nodiscard]] std::string model_names();

}  // namespace tapconv
