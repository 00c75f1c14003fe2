#pragma once

#include <string_view>
#include <vector>

#include "cuda/driver.hpp"
#include "problem/ceilings.hpp"

namespace tapconv {

/// A CUDA device as planning sees it, whether it is there or not: its limits, and how fast it can be.
struct DeviceModel {
  cuda::DeviceFacts facts;
  Ceilings ceilings;
};

/// The model of a device with these facts: its ceilings if data/devices.json has them, else physical ones from the
/// facts, with derive_reach().
[[nodiscard]] DeviceModel device_model(const cuda::DeviceFacts& facts);

/// The devices of data/devices.json, which can be planned for without being there.
[[nodiscard]] const std::vector<DeviceModel>& known_devices();

/// The one with this short name, like "h200". Throws Error{usage} naming all of them.
[[nodiscard]] const DeviceModel& known_device(std::string_view model);

}  // namespace tapconv
