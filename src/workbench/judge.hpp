#pragma once

#include "engine/session.hpp"
#include "oracle/statistics.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/fingerprint.hpp"

namespace tapconv {

/// Throws Error{usage} for a library that does not run on the device. Empty is none.
void expect_reference(const std::string& against, const Device& device);

/// The library whose configurations references are on the device: "cudnn" or "onednn".
[[nodiscard]] std::string_view library_of(const Device& device);

/// How many outputs of a problem the device examines in about a second.
[[nodiscard]] std::int64_t default_samples(const Problem& problem, const Device& device);

/// Runs `executable` on the session's operands as they are, from a poisoned output to a finished one.
void execute(Session& session, Executable& executable);

/// The same on the output as it is.
void compute_over_output(Session& session, Executable& executable);

/// The outputs that show an arithmetic: at most a few thousand.
[[nodiscard]] std::vector<std::int64_t> fingerprint_samples(const Problem& problem, std::uint64_t seed);

/// The arithmetic of the session's output on the session's operands.
[[nodiscard]] Fingerprint fingerprint_output(Session& session, std::uint64_t seed);

/// The arithmetic of what somebody computed of these outputs on the session's operands.
[[nodiscard]] Fingerprint fingerprint_of(Session& session, std::span<const std::int64_t> outputs,
                                         std::span<const double> result);

/// Places of a linear output index: (n, k, spatial...).
[[nodiscard]] std::vector<std::int64_t> output_place(const Problem& problem, std::int64_t output);

/// The inverse.
[[nodiscard]] std::int64_t output_index(const Problem& problem, const std::vector<std::int64_t>& place);

}  // namespace tapconv
