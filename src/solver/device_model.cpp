#include "solver/device_model.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "problem/data.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Dense TF32 FLOP of a multiprocessor in a clock; 16-bit types do twice as many.
double tensor_flop(const cuda::DeviceFacts& facts) {
  if (facts.compute_major == 9) return 2048;
  if (facts.compute_major == 10) return 4096;
  return facts.compute_major == 8 && facts.compute_minor == 0 ? 1024 : 512;
}

double ffma_flop(const cuda::DeviceFacts& facts) {
  return facts.compute_major == 8 && facts.compute_minor == 0 ? 128 : 256;
}

cuda::DeviceFacts facts_of(const nlohmann::json& device) {
  const nlohmann::json& entry = device.at("facts");
  cuda::DeviceFacts facts;
  facts.name = device.at("name");
  const std::string capability = entry.at("compute_capability");
  const std::size_t point = capability.find('.');
  facts.compute_major = std::stoi(capability.substr(0, point));
  facts.compute_minor = std::stoi(capability.substr(point + 1));
  facts.multiprocessors = entry.at("multiprocessors");
  facts.max_threads_per_block = entry.at("max_threads_per_block");
  facts.shared_per_block = entry.at("shared_per_block");
  facts.shared_per_block_opt_in = entry.at("shared_per_block_opt_in");
  facts.shared_per_multiprocessor = entry.at("shared_per_multiprocessor");
  facts.registers_per_block = entry.at("registers_per_block");
  facts.max_grid = entry.at("max_grid").get<std::array<std::int64_t, 3>>();
  facts.l2_bytes = entry.at("l2_byte");
  facts.sm_clock_khz = entry.at("sm_clock_khz");
  facts.memory_clock_khz = entry.at("memory_clock_khz");
  facts.memory_bus_bits = entry.at("memory_bus_bits");
  facts.memory_bytes = entry.at("memory_byte");
  return facts;
}

}  // namespace

DeviceModel device_model(const cuda::DeviceFacts& facts) {
  const auto known = std::ranges::find(known_ceilings(), facts.name, &Ceilings::name);
  if (known != known_ceilings().end()) return {.facts = facts, .ceilings = *known};
  const double clocks = 1e3 * facts.sm_clock_khz * facts.multiprocessors;
  Ceilings ceilings{.name = facts.name,
                    .model = {},
                    // Two transfers a clock.
                    .limit_byte_per_s = 2 * 1e3 * facts.memory_clock_khz * facts.memory_bus_bits / 8.0,
                    .limit_ffma_flop_per_s = clocks * ffma_flop(facts),
                    .limit_tf32_flop_per_s = clocks * tensor_flop(facts),
                    .limit_f16_flop_per_s = 2 * clocks * tensor_flop(facts),
                    .l2_byte = static_cast<double>(facts.l2_bytes)};
  derive_reach(ceilings);
  return {.facts = facts, .ceilings = ceilings};
}

const std::vector<DeviceModel>& known_devices() {
  static const std::vector<DeviceModel> devices = [] {
    std::vector<DeviceModel> all;
    const nlohmann::json data = read_data("devices.json");
    for (const nlohmann::json& device : data.at("devices")) all.push_back(device_model(facts_of(device)));
    return all;
  }();
  return devices;
}

const DeviceModel& known_device(std::string_view model) {
  std::string valid;
  for (const DeviceModel& device : known_devices()) {
    if (device.ceilings.model == model) return device;
    valid += (valid.empty() ? "" : ", ") + device.ceilings.model;
  }
  fail(ErrorCode::usage, "device model = {}; valid: {}", model, valid);
}

}  // namespace tapconv
