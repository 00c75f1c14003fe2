#include <charconv>

#include "cuda/driver.hpp"
#include "problem/text.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

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
  throw SpellingError(fmt::format("device = {}; valid: cpu, cuda, cuda:N", text), text, 0);
}

std::string name(const Device& device) {
  return device.kind == Device::Kind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device default_device() {
  return {.kind = cuda::device_count() > 0 ? Device::Kind::cuda : Device::Kind::cpu, .index = 0, .threads = 0};
}

}  // namespace tapconv
