#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "oracle/statistics.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/fingerprint.hpp"

namespace tapconv {

/// What was seen of one thing that was timed.
struct Measurement {
  std::string name, layout;
  std::vector<std::string> notes;
  std::vector<double> spaced_ms;
  Fingerprint print{};
  double max_bound_ratio = 0;
  std::optional<ErrorStatistics> errors;  ///< of the judged outputs, beside exact sums of the operands as they are
  double sustained_ms = 0;                ///< by the device's clock; 0: not measured
  double sustained_wall_ms = 0;           ///< by the host's, around each call; 0: not measured
};

/// So many outputs of each timed call are judged.
inline constexpr std::int64_t judged_outputs = 512;

/// Judges outputs of one call on the session's operands: by the contract if it `promises` to keep that or was found to
/// compute as the contract declares, else by the bound of the arithmetic that it shows. Raises max_bound_ratio, adds to
/// the errors.
void judge_call(Measurement& measurement, Session& session, bool promises, std::span<const std::int64_t> outputs,
                std::span<const double> values);

/// Median, range, share of the reach on the session's device.
[[nodiscard]] BenchEntry entry_of(const Measurement& measurement, const Problem& problem,
                                  const std::string& device_name);

}  // namespace tapconv
