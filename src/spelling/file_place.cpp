#include "spelling/file_place.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tapconv {

std::string FilePlace::prefix() const {
  if (file.empty()) return "";
  const std::string_view before = content.substr(0, offset);
  return fmt::format("{}:{}: ", file, 1 + std::ranges::count(before, '\n'));
}

}  // namespace tapconv
