#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/host_tensors.hpp"
#include "engine/session.hpp"

namespace tapconv {

/// Whether Tapconv was built with the CPU engine.
[[nodiscard]] bool cpu_engine_available();

/// oneDNN's version. Throws Error{environment} without the CPU engine.
[[nodiscard]] std::string cpu_engine_version();

/// What computes a problem on the processor, on `tensors`, which outlive it: oneDNN, or the oracle for float64.
/// `threads` as in Device. Throws Error{environment} without the CPU engine.
[[nodiscard]] std::unique_ptr<Executable> make_cpu_engine(const Problem& problem, HostTensors& tensors, int threads);

/// Every different way to drive oneDNN; its own preference first. Throws Error{usage} for a problem that oneDNN does
/// not take by itself, Error{environment} without the CPU engine.
[[nodiscard]] std::vector<std::unique_ptr<Executable>> make_cpu_references(const Problem& problem, HostTensors& tensors,
                                                                           int threads);

/// Fills in the device, the solver and its configuration, and the one stage. Throws Error{environment} without the CPU
/// engine.
void describe_cpu(PlanReport& report);

}  // namespace tapconv
