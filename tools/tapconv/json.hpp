#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tapconv/cache.hpp"
#include "tapconv/compare.hpp"
#include "tapconv/explain.hpp"
#include "tapconv/fingerprint.hpp"
#include "tapconv/tune.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv::cli {

/// Fields keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// JSON has neither infinities nor NaN: null.
[[nodiscard]] Json number(double value);
[[nodiscard]] Json floor_json(const TimeFloor& floor);

[[nodiscard]] Json to_json(const PlanReport& report);
[[nodiscard]] Json to_json(const RunReport& report, const Problem& problem);
[[nodiscard]] Json to_json(const CheckReport& report);
[[nodiscard]] Json to_json(const BenchReport& report);
[[nodiscard]] Json to_json(const SuiteRow& row);
[[nodiscard]] Json to_json(const BenchComparison& comparison);
[[nodiscard]] Json to_json(const FingerprintReport& report);
[[nodiscard]] Json to_json(const FingerprintRow& row);
[[nodiscard]] Json to_json(const SpecsReport& report);
[[nodiscard]] Json to_json(const std::vector<ProblemList>& lists);
[[nodiscard]] Json to_json(const std::vector<NamedProblem>& problems);
[[nodiscard]] Json to_json(const CacheReport& report);
[[nodiscard]] Json to_json(const CachePruning& pruning);
[[nodiscard]] Json to_json(const CacheExport& result);
[[nodiscard]] Json to_json(const std::vector<TuneReport>& reports);
[[nodiscard]] Json to_json(const std::vector<StoredPlan>& plans);
[[nodiscard]] Json to_json(const ExplainReport& report);

/// Writes one object and a newline to standard output.
void print(const Json& json);

}  // namespace tapconv::cli
