#pragma once

#include <string>

namespace tapconv {

/// The first value that Linux gives for `key` in /proc/cpuinfo, like "model name" or "flags"; empty if there is none.
[[nodiscard]] std::string processor_info(const std::string& key);

}  // namespace tapconv
