#pragma once

#include <optional>
#include <string>

namespace tapconv::cuda {

/// What NVIDIA's management library says of a device at one moment.
struct DeviceCondition {
  int sm_mhz = 0, memory_mhz = 0, temperature_c = 0;
  double power_w = 0;
  bool power_capped = false;  ///< the clock is lowered to stay within the power limit: normal under load
  bool slowed = false;        ///< the clock is lowered for heat or by the hardware
};

/// Absent where the library is missing or does not answer.
[[nodiscard]] std::optional<DeviceCondition> device_condition(int device);

/// The display driver's version, like "580.159.04"; empty where unknown.
[[nodiscard]] std::string display_driver_version();

}  // namespace tapconv::cuda
