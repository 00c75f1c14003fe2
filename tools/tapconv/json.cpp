#include "json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "expected_errors.hpp"

namespace tapconv::cli {

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json floor_json(const TimeFloor& floor) {
  return {{"device_name", floor.device_name},   {"limit_ms", floor.limit_ms}, {"reach_ms", floor.reach_ms},
          {"plausible_ms", floor.plausible_ms}, {"bound_by", floor.bound_by}, {"reach_derived", floor.reach_derived}};
}

namespace {

Json expected_json(const ExpectedErrors& expected) {
  Json json{{"errors", Json::array()}};
  for (const auto& [arithmetic, error] : expected.errors)
    json["errors"].push_back({{"arithmetic", arithmetic},
                              {"rms_value", error.rms_value},
                              {"rms_error", error.rms_error},
                              {"max_error", error.expected_max_error}});
  if (expected.against_tf32)
    json["fp32_against_tf32"] = {{"atol", expected.tolerance},
                                 {"rtol", expected.tolerance},
                                 {"rms_difference", expected.against_tf32->rms_difference},
                                 {"max_difference", expected.against_tf32->expected_max_difference},
                                 {"failing_share", expected.against_tf32->failing_share},
                                 {"pass_probability", expected.against_tf32->pass_probability}};
  return json;
}

Json kernel_json(const PlannedKernel& kernel) {
  Json json{{"entry", kernel.entry},         {"blocks", kernel.blocks},
            {"threads", kernel.threads},     {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
            {"registers", nullptr},          {"local_bytes", nullptr},
            {"static_shared_bytes", nullptr}};
  if (kernel.resources) {
    json["registers"] = kernel.resources->registers;
    json["local_bytes"] = kernel.resources->local_bytes;
    json["static_shared_bytes"] = kernel.resources->static_shared_bytes;
  }
  return json;
}

Json stage_json(const PlannedStage& stage) {
  const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json json{{"problem", spell(stage.problem)},
            {"verdicts", Json::array()},
            {"solver", stage.solver},
            {"configuration", stage.configuration},
            {"tuned", stage.tuned},
            {"predicted_ms", or_null(stage.predicted_ms)},
            {"floor", stage.floor ? floor_json(*stage.floor) : Json(nullptr)},
            {"limit_share", nullptr},
            {"reach_share", nullptr},
            {"waves", stage.waves},
            {"edge_waste", stage.edge_waste},
            {"k_order", stage.k_order},
            {"packed_bytes", stage.packed_bytes},
            {"kernels", Json::array()}};
  if (stage.floor && stage.predicted_ms) {
    json["limit_share"] = stage.floor->limit_ms / *stage.predicted_ms;
    json["reach_share"] = stage.floor->reach_ms / *stage.predicted_ms;
  }
  for (const Verdict& verdict : stage.verdicts)
    json["verdicts"].push_back({{"solver", verdict.solver},
                                {"supported", verdict.supported},
                                {"reason", verdict.reason},
                                {"configuration", verdict.configuration},
                                {"predicted_ms", or_null(verdict.predicted_ms)}});
  for (const PlannedKernel& kernel : stage.kernels) json["kernels"].push_back(kernel_json(kernel));
  return json;
}

}  // namespace

Json to_json(const PlanReport& report) {
  Json json{{"problem", spell(report.problem)},
            {"device", name(report.device)},
            {"threads", report.device.threads},
            {"device_name", report.device_name},
            {"input_shape", report.input_shape},
            {"weight_shape", report.weight_shape},
            {"output_shape", report.output_shape},
            {"flop", report.work.flop},
            {"byte", report.work.byte},
            {"floors", Json::array()},
            {"expected", expected_json(expected_errors(report.problem))},
            {"solver", report.solver},
            {"configuration", report.configuration},
            {"stages", Json::array()},
            {"workspace_bytes", report.workspace_bytes},
            {"architecture", report.architecture},
            {"not_compiled", report.not_compiled}};
  for (const TimeFloor& floor : report.floors) json["floors"].push_back(floor_json(floor));
  for (const PlannedStage& stage : report.stages) json["stages"].push_back(stage_json(stage));
  return json;
}

Json to_json(const RunReport& report, const Problem& problem) {
  return {
      {"problem", spell(problem)},         {"device", name(report.device)},         {"threads", report.device.threads},
      {"device_name", report.device_name}, {"output_shape", report.output.shape()}, {"solver", report.solver},
      {"plan_ms", report.plan_ms},         {"compute_ms", report.compute_ms}};
}

Json to_json(const SpecsReport& report) {
  return {{"device", name(report.device)},
          {"device_name", report.device_name},
          {"facts", report.facts},
          {"measured", report.measured},
          {"versions", report.versions}};
}

void print(const Json& json) {
  // A file name may hold any bytes; JSON holds Unicode alone.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace tapconv::cli
