#include "json.hpp"

namespace tapconv::cli {
namespace {

Json stored_json(const StoredPlan& plan) {
  return {{"problem", plan.problem},
          {"input_dtype", plan.input_dtype},
          {"strided", plan.strided},
          {"packed", plan.packed},
          {"device_name", plan.device_name},
          {"multiprocessors", plan.multiprocessors},
          {"version", plan.version},
          {"solver", plan.solver},
          {"configuration", plan.configuration},
          {"measured_ms", plan.measured_ms},
          {"alone", plan.alone},
          {"date", plan.date}};
}

Json candidate_json(const TunedCandidate& candidate) {
  Json json{{"solver", candidate.solver},
            {"configuration", candidate.configuration},
            {"k_order", candidate.k_order},
            {"predicted_ms", candidate.predicted_ms},
            {"measured_ms", nullptr},
            {"rounds", candidate.rounds},
            {"is_default", candidate.is_default},
            {"problem", candidate.problem}};
  if (candidate.rounds > 0) json["measured_ms"] = candidate.measured_ms;
  return json;
}

Json tuned_json(const TuneReport& report) {
  Json json{{"problem", spell(report.problem)}, {"device", name(report.device)}, {"device_name", report.device_name},
            {"stages", Json::array()},          {"seconds", report.seconds},     {"correct", report.correct}};
  for (const TunedStage& stage : report.stages) {
    Json entry{{"best", stored_json(stage.best)}, {"candidates", Json::array()}, {"untried", stage.untried}};
    for (const TunedCandidate& candidate : stage.candidates) entry["candidates"].push_back(candidate_json(candidate));
    json["stages"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

Json to_json(const std::vector<TuneReport>& reports) {
  Json json{{"file", plan_file()}, {"problems", Json::array()}};
  for (const TuneReport& report : reports) json["problems"].push_back(tuned_json(report));
  return json;
}

Json to_json(const std::vector<StoredPlan>& plans) {
  Json json{{"file", plan_file()}, {"plans", Json::array()}};
  for (const StoredPlan& plan : plans) json["plans"].push_back(stored_json(plan));
  return json;
}

}  // namespace tapconv::cli
