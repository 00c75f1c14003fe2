#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::optional<tapconv::Problem> parse(std::string_view text) {
  try {
    return tapconv::parse_problem(text);
  } catch (const tapconv::SpellingError& error) {
    require(error.code() == tapconv::ErrorCode::usage && error.position() <= text.size());
    return std::nullopt;
  }
}

}  // namespace

/// Any text is either a valid problem that its canonical spelling describes or a SpellingError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto problem = parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!problem) return 0;
  tapconv::validate(*problem);
  const std::string text = tapconv::spell(*problem);
  const auto again = parse(text);
  require(again == problem && tapconv::spell(*again) == text);
  return 0;
}
