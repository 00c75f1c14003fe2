#pragma once

#include <string>

namespace tapconv {

/// The time in UTC, ISO 8601: "2026-11-30T02:45:06+00:00".
[[nodiscard]] std::string utc_now();

}  // namespace tapconv
