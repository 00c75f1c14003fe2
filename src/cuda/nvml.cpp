#include "cuda/nvml.hpp"

#include <array>

#include "cuda/driver.hpp"
#include "cuda/dynamic_library.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda {
namespace {

/// The part of NVML's C interface that is used, under its own names less the prefix "nvml".
struct NvmlApi {
  int (*Init)();
  int (*SystemGetDriverVersion)(char*, unsigned);
  int (*DeviceGetHandleByPciBusId)(const char*, void**);
  int (*DeviceGetClockInfo)(void*, int, unsigned*);
  int (*DeviceGetTemperature)(void*, int, unsigned*);
  int (*DeviceGetPowerUsage)(void*, unsigned*);
  int (*DeviceGetCurrentClocksThrottleReasons)(void*, unsigned long long*);

  /// Null where the library is missing.
  static const NvmlApi* get() {
    static const std::optional<NvmlApi> api = open();
    return api ? &*api : nullptr;
  }

 private:
  static std::optional<NvmlApi> open() {
    try {
      const DynamicLibrary library({"libnvidia-ml.so.1"});
      NvmlApi api{};
      library.load(api.Init, "nvmlInit_v2");
      library.load(api.SystemGetDriverVersion, "nvmlSystemGetDriverVersion");
      library.load(api.DeviceGetHandleByPciBusId, "nvmlDeviceGetHandleByPciBusId_v2");
      library.load(api.DeviceGetClockInfo, "nvmlDeviceGetClockInfo");
      library.load(api.DeviceGetTemperature, "nvmlDeviceGetTemperature");
      library.load(api.DeviceGetPowerUsage, "nvmlDeviceGetPowerUsage");
      library.load(api.DeviceGetCurrentClocksThrottleReasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
      if (api.Init() != 0) return std::nullopt;
      return api;
    } catch (const Error&) {
      return std::nullopt;  // the readings are extras; nothing depends on them
    }
  }
};

constexpr int clock_sm = 1, clock_memory = 2, temperature_gpu = 0;
constexpr unsigned long long reason_power_cap = 0x4, reason_hardware_slowdown = 0x8, reason_thermal_software = 0x20,
                             reason_thermal_hardware = 0x40, reason_power_brake = 0x80;

}  // namespace

std::optional<DeviceCondition> device_condition(int device) {
  const NvmlApi* api = NvmlApi::get();
  if (!api) return std::nullopt;
  // CUDA's order of devices need not be NVML's: the bus names the device to both.
  void* handle = nullptr;
  if (api->DeviceGetHandleByPciBusId(Context::get(device).facts().pci_bus_id.c_str(), &handle) != 0)
    return std::nullopt;
  unsigned sm = 0, memory = 0, temperature = 0, milliwatts = 0;
  unsigned long long reasons = 0;
  if (api->DeviceGetClockInfo(handle, clock_sm, &sm) != 0 ||
      api->DeviceGetClockInfo(handle, clock_memory, &memory) != 0 ||
      api->DeviceGetTemperature(handle, temperature_gpu, &temperature) != 0 ||
      api->DeviceGetPowerUsage(handle, &milliwatts) != 0 ||
      api->DeviceGetCurrentClocksThrottleReasons(handle, &reasons) != 0)
    return std::nullopt;
  return DeviceCondition{.sm_mhz = static_cast<int>(sm),
                         .memory_mhz = static_cast<int>(memory),
                         .temperature_c = static_cast<int>(temperature),
                         .power_w = milliwatts / 1000.0,
                         .power_capped = (reasons & reason_power_cap) != 0,
                         .slowed = (reasons & (reason_hardware_slowdown | reason_thermal_software |
                                               reason_thermal_hardware | reason_power_brake)) != 0};
}

std::string display_driver_version() {
  const NvmlApi* api = NvmlApi::get();
  std::array<char, 96> text{};
  if (!api || api->SystemGetDriverVersion(text.data(), static_cast<unsigned>(text.size())) != 0) return {};
  return text.data();
}

}  // namespace tapconv::cuda
