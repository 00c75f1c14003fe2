#include "workbench/results_file.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "problem/text.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_rounds = 1000;
constexpr std::size_t most_rows = 4096;
constexpr int most_depth = 32;

double time_of(const Json& value, const char* field) {
  const auto ms = value.get<double>();
  if (!std::isfinite(ms) || ms <= 0) fail(ErrorCode::usage, "{} = {}; valid: above 0", field, ms);
  return ms;
}

/// `report` is what bench says of one problem.
TimedRow row_of(const std::string& row_name, const Json& report) {
  const Json& engine = report.at("engine");
  TimedRow row{.name = row_name,
               .problem = spell(parse_problem(report.at("problem").get<std::string>())),
               .spaced_ms = time_of(engine.at("spaced_ms"), "spaced_ms"),
               .rounds_ms = {},
               .wrong = false,
               .implausible = engine.at("implausible").get<bool>()};
  if (const auto rounds = engine.find("spaced_rounds_ms"); rounds != engine.end()) {
    if (!rounds->is_array() || rounds->size() > most_rounds)
      fail(ErrorCode::usage, "spaced_rounds_ms is no array of at most {} times", most_rounds);
    for (const Json& ms : *rounds) row.rounds_ms.push_back(time_of(ms, "spaced_rounds_ms"));
  }
  // An infinity is null. Files from before as_declared was written do not have it.
  const Json& bound_ratio = engine.at("max_bound_ratio");
  row.wrong = bound_ratio.is_null() || bound_ratio.get<double>() > 1 || !report.value("as_declared", true);
  return row;
}

std::string text_of(const Json& object, const char* field) {
  const auto found = object.find(field);
  return found == object.end() ? "unknown" : found->is_string() ? found->get<std::string>() : found->dump();
}

/// `document` has the fields of the device, and those of the protocol.
std::map<std::string, std::string> conditions_of(const Json& document) {
  std::map<std::string, std::string> conditions;
  for (const char* const field : {"device_name", "threads"}) conditions[field] = text_of(document, field);
  // Neither the number of rounds nor what is timed besides changes what a round measures.
  const Json protocol = document.value("protocol", Json::object());
  if (!protocol.is_object()) fail(ErrorCode::usage, "protocol is no object");
  conditions["idle_ms"] = text_of(protocol, "idle_ms");
  return conditions;
}

ResultsFile results_of(const Json& document) {
  ResultsFile file{.conditions = conditions_of(document), .rows = {}, .failed = {}};
  if (document.contains("engine")) {
    file.rows.push_back(row_of("", document));
  } else {
    const Json& rows = document.at("rows");
    if (!rows.is_array() || rows.size() > most_rows)
      fail(ErrorCode::usage, "rows is no array of at most {} rows", most_rows);
    for (const Json& row : rows) {
      const Json& report = row.at("report");
      std::string name = row.at("name").get<std::string>();
      if (report.is_null())
        file.failed.push_back(std::move(name));
      else
        file.rows.push_back(row_of(name, report));
    }
  }
  return file;
}

}  // namespace

ResultsFile read_results(std::string_view text, std::string_view name) {
  try {
    return results_of(Json::parse(text, [](int depth, Json::parse_event_t, Json&) {
      if (depth > most_depth) fail(ErrorCode::usage, "it nests deeper than {} levels", most_depth);
      return true;
    }));
  } catch (const Json::exception& error) {
    fail(ErrorCode::usage, "{} is no result of tapconv bench: {}", name, error.what());
  } catch (const Error& error) {
    fail(ErrorCode::usage, "{} is no result of tapconv bench: {}", name, error.what());
  }
}

}  // namespace tapconv
