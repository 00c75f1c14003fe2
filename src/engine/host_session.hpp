#pragma once

#include <memory>

#include "engine/session.hpp"

namespace tapconv {

/// A session on the processor, with the oracle; the CPU engine is needed only when engine() or references() are asked
/// for. `threads` as in Device.
[[nodiscard]] std::unique_ptr<Session> open_host_session(const Problem& problem, int threads = 0);

}  // namespace tapconv
