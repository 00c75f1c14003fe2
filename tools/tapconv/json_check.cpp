#include "json.hpp"

namespace tapconv::cli {
namespace {

Json case_json(const CheckCase& item) {
  return {{"tensors", item.tensors},
          {"problem", item.problem},
          {"exact", item.exact},
          {"outputs", item.outputs},
          {"violations", item.violations},
          {"nans", item.nans},
          {"unwritten", item.unwritten ? Json(*item.unwritten) : Json(nullptr)},
          {"worst_ratio", number(item.worst_ratio)},
          {"worst_place", item.worst_place},
          {"worst_actual", number(item.worst_actual)},
          {"worst_expected", number(item.worst_expected)},
          {"max_error", number(item.max_error)},
          {"rms_error", number(item.rms_error)},
          {"sequential_rms_error", number(item.sequential_rms_error)},
          {"accurate", item.accurate}};
}

Json stage_json(const CheckStage& stage) {
  Json json{{"name", stage.name},       {"result", name(stage.result)}, {"reason", stage.reason},
            {"problem", stage.problem}, {"cases", Json::array()},       {"notes", stage.notes}};
  for (const CheckCase& item : stage.cases) json["cases"].push_back(case_json(item));
  return json;
}

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json json{{"cause", diagnosis.cause},
            {"sentence", diagnosis.sentence},
            {"also", diagnosis.also},
            {"outputs", diagnosis.outputs},
            {"examined", diagnosis.examined},
            {"wrong", diagnosis.wrong},
            {"unwritten_share", diagnosis.unwritten_share},
            {"nan_share", diagnosis.nan_share},
            {"worst", Json::array()},
            {"groups", Json::array()},
            {"histogram", Json::array()},
            {"scale", number(diagnosis.scale)},
            {"offset", number(diagnosis.offset)},
            {"correlation", number(diagnosis.correlation)}};
  for (const Diagnosis::Worst& one : diagnosis.worst)
    json["worst"].push_back({{"place", one.place},
                             {"actual", number(one.actual)},
                             {"expected", number(one.expected)},
                             {"bound", number(one.bound)}});
  for (const Diagnosis::Group& group : diagnosis.groups)
    json["groups"].push_back({{"what", group.what},
                              {"outputs", group.outputs},
                              {"wrong", group.wrong},
                              {"max_ratio", number(group.max_ratio)}});
  for (const Diagnosis::Bin& bin : diagnosis.histogram)
    json["histogram"].push_back({{"from", number(bin.from)}, {"to", number(bin.to)}, {"outputs", bin.outputs}});
  return json;
}

}  // namespace

Json to_json(const CheckReport& report) {
  Json json{{"problem", spell(report.problem)},
            {"device", name(report.device)},
            {"threads", report.device.threads},
            {"device_name", report.device_name},
            {"solver", report.solver},
            {"passed", report.passed},
            {"sentence", report.sentence},
            {"arithmetic", report.arithmetic},
            {"indistinguishable", report.indistinguishable},
            {"expected_arithmetic", report.expected_arithmetic},
            {"cases", Json::array()},
            {"stages", Json::array()},
            {"secret_seed", report.secret_seed},
            {"diagnosis", report.diagnosis ? diagnosis_json(*report.diagnosis) : Json(nullptr)}};
  for (const CheckCase& item : report.cases) json["cases"].push_back(case_json(item));
  for (const CheckStage& stage : report.stages) json["stages"].push_back(stage_json(stage));
  if (report.reference) {
    const ReferenceVerdict& reference = *report.reference;
    json["reference"] = {{"name", reference.name},
                         {"arithmetic", reference.arithmetic},
                         {"rms_error", number(reference.rms_error)},
                         {"own_rms_error", number(reference.own_rms_error)},
                         {"atol", reference.atol},
                         {"rtol", reference.rtol},
                         {"outputs", reference.outputs},
                         {"failures", reference.failures},
                         {"max_difference", number(reference.max_difference)},
                         {"explained", reference.explained}};
  }
  return json;
}

}  // namespace tapconv::cli
