#include "engine/device.hpp"

#include <algorithm>
#include <charconv>

#include "cuda/driver.hpp"
#include "problem/ceilings.hpp"
#include "problem/text.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

std::string model_names() {
  std::string names;
  for (const Ceilings& known : known_ceilings()) names += (names.empty() ? "" : ", ") + known.model;
  return names;
}

Device parse_device(std::string_view text) {
  if (text == "cpu") return {.kind = Device::Kind::cpu, .index = 0, .threads = 0};
  if (text == "cuda") return {.kind = Device::Kind::cuda, .index = 0, .threads = 0};
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    int index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc{} && end == digits.data() + digits.size() && index >= 0)
      return {.kind = Device::Kind::cuda, .index = index, .threads = 0};
    throw SpellingError("device has no index after 'cuda:'; valid: a number, like cuda:0", text, prefix.size());
  }
  if (std::ranges::find(known_ceilings(), text, &Ceilings::model) != known_ceilings().end())
    return {.kind = Device::Kind::model, .index = 0, .threads = 0, .model = std::string(text)};
  throw SpellingError(
      fmt::format("device = {}; valid: cpu, cuda, cuda:N, and to plan for without a GPU: {}", text, model_names()),
      text, 0);
}

std::string name(const Device& device) {
  switch (device.kind) {
    case Device::Kind::cpu:
      return "cpu";
    case Device::Kind::cuda:
      return fmt::format("cuda:{}", device.index);
    case Device::Kind::model:
      return device.model;
  }
  return {};
}

void expect_hardware(const Device& device, std::string_view doing) {
  if (device.kind == Device::Kind::model)
    fail(ErrorCode::usage,
         "device = {} is a model, which `plan` and `explain` alone know; valid to {}: cpu, cuda, cuda:N", device.model,
         doing);
}

DeviceModel planning_model(const Device& device, std::string_view subject) {
  if (device.kind == Device::Kind::cpu)
    fail(ErrorCode::usage, "device = cpu; {} is of CUDA devices; valid: cuda, cuda:N, and without a GPU: {}", subject,
         model_names());
  if (device.kind == Device::Kind::model) return known_device(device.model);
  if (cuda::device_count() == 0)
    fail(ErrorCode::environment, "device = {}: {}; valid: cpu, and to plan for without a GPU: {}", name(device),
         cuda::missing_reason(), model_names());
  return device_model(cuda::Context::get(device.index).facts());
}

Device default_device() {
  return {.kind = cuda::device_count() > 0 ? Device::Kind::cuda : Device::Kind::cpu, .index = 0, .threads = 0};
}

}  // namespace tapconv
