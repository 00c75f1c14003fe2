#include <algorithm>

#include "json.hpp"

namespace tapconv::cli {
namespace {

Json entry_json(const BenchEntry& entry) {
  Json json{{"name", entry.name},
            {"layout", entry.layout},
            {"arithmetic", entry.arithmetic},
            {"notes", entry.notes},
            {"spaced_ms", entry.spaced_ms},
            {"spaced_min_ms", entry.spaced_min_ms},
            {"spaced_max_ms", entry.spaced_max_ms},
            {"spaced_rounds_ms", entry.spaced_rounds_ms},
            {"sustained_ms", entry.sustained_ms},
            {"sustained_wall_ms", entry.sustained_wall_ms},
            {"max_bound_ratio", number(entry.max_bound_ratio)},
            {"implausible", entry.implausible},
            {"doubt", entry.doubt}};
  if (entry.reach_share) json["reach_share"] = *entry.reach_share;
  if (entry.rms_error) json["rms_error"] = number(*entry.rms_error);
  if (entry.max_error) json["max_error"] = number(*entry.max_error);
  return json;
}

bool transforms(const BenchEntry& entry) {
  return std::ranges::any_of(entry.notes, [](const std::string& note) { return note == "winograd" || note == "fft"; });
}

/// Of each layout, with transforms (Winograd, FFT) and without, the best of the library whose outputs are right and
/// whose times can be.
Json best_json(const BenchReport& report) {
  Json best = Json::array();
  for (const char* const layout : {"contiguous", "channels-last"}) {
    for (const bool with_transforms : {false, true}) {
      // They are in the order of their times.
      const auto found = std::ranges::find_if(report.references, [&](const BenchEntry& entry) {
        return entry.layout == layout && transforms(entry) == with_transforms && entry.max_bound_ratio <= 1 &&
               !entry.implausible;
      });
      if (found == report.references.end()) continue;
      best.push_back({{"layout", layout},
                      {"transforms", with_transforms},
                      {"name", found->name},
                      {"spaced_ms", found->spaced_ms},
                      {"sustained_ms", found->sustained_ms},
                      {"ratio", found->spaced_ms / report.engine.spaced_ms}});
    }
  }
  return best;
}

}  // namespace

Json to_json(const BenchReport& report) {
  const auto ran = std::ranges::count(report.trials, std::string(), &BenchReport::Trial::reason);
  Json json{{"problem", spell(report.problem)},
            {"device", name(report.device)},
            {"threads", report.device.threads},
            {"device_name", report.device_name},
            {"configuration", report.configuration},
            {"engine", entry_json(report.engine)},
            {"references", Json::array()},
            {"considered", ran},
            {"refused", std::ssize(report.trials) - ran},
            {"refusal", report.refusal},
            {"trials", Json::array()},
            {"frameworks", Json::array()},
            {"rounds", report.rounds},
            {"dropped_rounds", report.dropped_rounds},
            {"as_declared", report.as_declared},
            {"ratio_reference", ""},
            {"ratio", nullptr},
            {"ratio_low", nullptr},
            {"ratio_high", nullptr},
            {"converged", nullptr},
            {"power_capped", report.power_capped},
            {"clocks", report.clocks}};
  for (const BenchEntry& entry : report.references) json["references"].push_back(entry_json(entry));
  for (const BenchReport::Trial& trial : report.trials)
    json["trials"].push_back({{"name", trial.name},
                              {"layout", trial.layout},
                              {"notes", trial.notes},
                              {"ms", trial.reason.empty() ? Json(trial.ms) : Json(nullptr)},
                              {"reason", trial.reason}});
  for (const BenchReport::Framework& framework : report.frameworks)
    json["frameworks"].push_back({{"name", framework.name},
                                  {"entry", framework.entry ? entry_json(*framework.entry) : Json(nullptr)},
                                  {"reason", framework.reason},
                                  {"versions", framework.versions}});
  if (report.ratio) {
    json["ratio_reference"] = report.ratio->reference;
    json["ratio"] = report.ratio->median;
    json["ratio_low"] = report.ratio->low;
    json["ratio_high"] = report.ratio->high;
    json["converged"] = report.ratio->converged;
  }
  if (report.floor) json["floor"] = floor_json(*report.floor);
  return json;
}

Json to_json(const SuiteRow& row) {
  return {{"name", row.named.name},
          {"problem", spell(row.named.problem)},
          {"contract", name(row.named.problem.contract)},
          {"date", row.date},
          {"seconds", row.seconds},
          {"reason", row.reason},
          {"best", row.report ? best_json(*row.report) : Json::array()},
          {"report", row.report ? to_json(*row.report) : Json(nullptr)}};
}

}  // namespace tapconv::cli
