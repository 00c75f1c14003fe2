#pragma once

#include <memory>
#include <string>

#include "engine/session.hpp"

namespace tapconv {

/// Whether Tapconv was built with the CPU engine.
[[nodiscard]] bool cpu_engine_available();

/// oneDNN's version. Throws Error{environment} without the CPU engine.
[[nodiscard]] std::string cpu_engine_version();

/// A session on the CPU engine. Throws Error{environment} without it.
[[nodiscard]] std::unique_ptr<Session> open_cpu_session(const Problem& problem);

/// Fills in the device, the verdicts, the solver and its configuration. Throws Error{environment} without the CPU
/// engine.
void describe_cpu(PlanReport& report);

}  // namespace tapconv
