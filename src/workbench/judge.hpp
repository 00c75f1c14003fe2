#pragma once

#include "engine/session.hpp"
#include "oracle/statistics.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/fingerprint.hpp"

namespace tapconv {

/// Throws Error{usage} for a library that does not run on the device. Empty is none.
void expect_reference(const std::string& against, const Device& device);

/// How many outputs of a problem the device examines in about a second.
[[nodiscard]] std::int64_t default_samples(const Problem& problem, const Device& device);

/// Runs `executable` on the session's operands as they are, from a poisoned output to a finished one.
void execute(Session& session, Executable& executable);

/// The arithmetic of the session's output on the session's operands, from at most a few thousand outputs.
[[nodiscard]] Fingerprint fingerprint_output(Session& session, std::uint64_t seed);

/// Places of a linear output index: (n, k, spatial...).
[[nodiscard]] std::vector<std::int64_t> output_place(const Problem& problem, std::int64_t output);

}  // namespace tapconv
