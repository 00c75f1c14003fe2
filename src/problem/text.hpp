#pragma once

#include <fmt/format.h>

#include "tapconv/error.hpp"

namespace tapconv {

/// Throws Error{code} with a formatted message.
template <class... Arguments>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Error(code, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace tapconv
