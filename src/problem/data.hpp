#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace tapconv {

/// The embedded file data/`path`. Throws Error{internal} if there is none.
[[nodiscard]] nlohmann::json read_data(std::string_view path);

}  // namespace tapconv
