#include "json.hpp"

namespace tapconv::cli {
namespace {

Json hypothesis_json(const FingerprintHypothesis& one) {
  return {{"arithmetic", one.arithmetic},
          {"possible", one.possible},
          {"slope", number(one.slope)},
          {"correlation", number(one.correlation)},
          {"rms_distance", number(one.rms_distance)},
          {"as_good", one.as_good}};
}

Json entry_json(const FingerprintEntry& entry) {
  Json json{{"name", entry.name},
            {"source", entry.source},
            {"layouts", entry.layouts},
            {"configurations", entry.configurations},
            {"arithmetic", entry.arithmetic},
            {"alternatives", entry.alternatives},
            {"summation", name(entry.summation)},
            {"outputs", entry.outputs},
            {"rms_error", number(entry.rms_error)},
            {"chain_rms_error", number(entry.chain_rms_error)},
            {"hypotheses", Json::array()}};
  for (const FingerprintHypothesis& one : entry.hypotheses) json["hypotheses"].push_back(hypothesis_json(one));
  return json;
}

}  // namespace

Json to_json(const FingerprintReport& report) {
  Json json{{"problem", spell(report.problem)},
            {"device", name(report.device)},
            {"threads", report.device.threads},
            {"device_name", report.device_name},
            {"entries", Json::array()},
            {"refusals", Json::array()},
            {"versions", report.versions},
            {"as_declared", report.as_declared},
            {"reference_arithmetic", report.reference_arithmetic},
            {"agrees", report.agrees ? Json(*report.agrees) : Json(nullptr)}};
  for (const FingerprintEntry& entry : report.entries) json["entries"].push_back(entry_json(entry));
  for (const FingerprintRefusal& refusal : report.refusals)
    json["refusals"].push_back({{"name", refusal.name}, {"source", refusal.source}, {"reason", refusal.reason}});
  return json;
}

Json to_json(const FingerprintRow& row) {
  return {{"name", row.named.name},
          {"problem", spell(row.named.problem)},
          {"contract", name(row.named.problem.contract)},
          {"date", row.date},
          {"seconds", row.seconds},
          {"reason", row.reason},
          {"report", row.report ? to_json(*row.report) : Json(nullptr)}};
}

}  // namespace tapconv::cli
