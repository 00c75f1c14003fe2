#pragma once

#include <string>
#include <string_view>

namespace tapconv::cuda {

/// A source with the library's headers written out in place of its #include lines, each once: it compiles alone.
/// Throws Error{internal} for a header that the library does not have.
[[nodiscard]] std::string inlined(std::string_view source);

}  // namespace tapconv::cuda
