#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "suite_file.hpp"

namespace tapconv::cli {
namespace {

/// "2.66"; three significant digits.
std::string milliseconds(const Json& ms) {
  const auto value = ms.get<double>();
  const int digits = value > 0 ? static_cast<int>(std::floor(std::log10(value))) : 0;
  return fmt::format("{:.{}f}", value, std::max(0, 2 - digits));
}

const Json* best_of(const Json& row, const std::string& layout, bool transforms) {
  for (const Json& best : row.at("best")) {
    if (best.at("layout") == layout && best.at("transforms") == transforms) return &best;
  }
  return nullptr;
}

/// The best of a layout, and beside it the best with transforms if that is faster.
std::string best_cell(const Json& row, const std::string& layout) {
  const Json* const plain = best_of(row, layout, false);
  const Json* const transformed = best_of(row, layout, true);
  const std::string text = plain ? milliseconds(plain->at("spaced_ms")) : "-";
  if (!transformed || (plain && plain->at("spaced_ms") <= transformed->at("spaced_ms"))) return text;
  return fmt::format("{} ({} by transforms)", text, milliseconds(transformed->at("spaced_ms")));
}

std::string engine_cell(const Json& report) {
  const Json& engine = report.at("engine");
  const std::string share =
      engine.contains("reach_share") ? fmt::format(" ({:.0f} %)", 100 * engine.at("reach_share").get<double>()) : "";
  return milliseconds(engine.at("spaced_ms")) + share;
}

const Json* framework(const Json& report, const std::string& name) {
  for (const Json& one : report.at("frameworks")) {
    if (one.at("name") == name && !one.at("entry").is_null()) return &one.at("entry");
  }
  return nullptr;
}

/// The least time of a right reference of the library / ours.
std::optional<double> best_ratio(const Json& row) {
  std::optional<double> least;
  for (const Json& best : row.at("best")) {
    const auto ratio = best.at("ratio").get<double>();
    if (!least || ratio < *least) least = ratio;
  }
  return least;
}

/// "wrong" for what is beyond the bound, or not even a number.
std::string bound_cell(const Json& entry) {
  const Json& ratio = entry.at("max_bound_ratio");
  if (ratio.is_null() || ratio > 1) return "wrong";
  return fmt::format("{:.2g}", ratio.get<double>());
}

std::string geometric_mean(const std::vector<double>& ratios) {
  if (ratios.empty()) return "-";
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return fmt::format("{:.2f}", std::exp(sum / static_cast<double>(ratios.size())));
}

}  // namespace

std::string markdown(const Json& document) {
  const auto against = document.at("against").get<std::vector<std::string>>();
  std::vector<std::string> frameworks;
  std::string library;
  for (const std::string& name : against) {
    if (name.starts_with("torch"))
      frameworks.push_back(name);
    else
      library = name;
  }
  std::vector<std::string> columns{"problem", "contract", "solver", "ours", "worst / bound", "limit", "reach"};
  if (!library.empty()) {
    columns.insert(columns.end(), {library + ", contiguous", library + ", channels-last", library + "'s best / ours"});
  }
  for (const std::string& name : frameworks) columns.insert(columns.end(), {name, name + " / ours"});

  const auto commit = document.at("commit").get<std::string>();
  std::string text =
      fmt::format("Suite {} on {}, {}{}. Spaced medians in ms; ours with the share of the reach time.\n\n",
                  document.at("suite").get<std::string>(), document.at("device_name").get<std::string>(),
                  document.at("date").get<std::string>(), commit.empty() ? "" : ", commit " + commit);
  text += fmt::format("| {} |\n", fmt::join(columns, " | "));
  for (std::size_t i = 0; i < columns.size(); ++i) text += "|---";
  text += "|\n";

  std::vector<double> ratios;
  std::map<std::string, std::vector<double>> framework_ratios;
  std::string absences;
  for (const Json& row : document.at("rows")) {
    const auto name = row.at("name").get<std::string>();
    const Json& report = row.at("report");
    if (report.is_null()) {
      absences += fmt::format("- {}: {}\n", name, row.at("reason").get<std::string>());
      continue;
    }
    const Json& engine = report.at("engine");
    const bool has_floor = report.contains("floor");
    std::vector<std::string> cells{name,
                                   row.at("contract"),
                                   engine.at("name"),
                                   engine_cell(report),
                                   bound_cell(engine),
                                   has_floor ? milliseconds(report.at("floor").at("limit_ms")) : "-",
                                   has_floor ? milliseconds(report.at("floor").at("reach_ms")) : "-"};
    if (!library.empty()) {
      const std::optional<double> ratio = best_ratio(row);
      if (ratio) ratios.push_back(*ratio);
      cells.insert(cells.end(), {best_cell(row, "contiguous"), best_cell(row, "channels-last"),
                                 ratio ? fmt::format("{:.2f}", *ratio) : "-"});
      if (const auto refusal = report.at("refusal").get<std::string>(); !refusal.empty())
        absences += fmt::format("- {}, {}: {}\n", name, library, refusal);
    }
    for (const std::string& one : frameworks) {
      const Json* const entry = framework(report, one);
      const double ratio = entry ? entry->at("spaced_ms").get<double>() / engine.at("spaced_ms").get<double>() : 0.0;
      if (entry) framework_ratios[one].push_back(ratio);
      cells.insert(cells.end(),
                   {entry ? milliseconds(entry->at("spaced_ms")) : "-", entry ? fmt::format("{:.2f}", ratio) : "-"});
    }
    for (const Json& one : report.at("frameworks")) {
      if (const auto reason = one.at("reason").get<std::string>(); !reason.empty())
        absences += fmt::format("- {}, {}: {}\n", name, one.at("name").get<std::string>(), reason);
    }
    text += fmt::format("| {} |\n", fmt::join(cells, " | "));
  }
  if (!library.empty())
    text += fmt::format("\nGeometric mean of {}'s best / ours over {} rows: {}.\n", library, ratios.size(),
                        geometric_mean(ratios));
  for (const std::string& name : frameworks)
    text += fmt::format("\nGeometric mean of {} / ours over {} rows: {}.\n", name, framework_ratios[name].size(),
                        geometric_mean(framework_ratios[name]));
  if (!absences.empty()) text += "\nNot measured:\n\n" + absences;
  return text;
}

}  // namespace tapconv::cli
