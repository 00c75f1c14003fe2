#include "engine/processor.hpp"

#include <algorithm>
#include <fstream>

namespace tapconv {

std::string processor_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(std::min(line.size(), line.find(':') + 2));
  }
  return {};
}

}  // namespace tapconv
