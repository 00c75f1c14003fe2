#include "explain_calculators.hpp"
#include "json.hpp"

namespace tapconv::cli {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json contract_json(const ContractOutlook& contract) {
  Json json{{"contract", contract.label},
            {"floor", floor_json(contract.floor)},
            {"ridge_flop_per_byte", or_null(contract.ridge_flop_per_byte)},
            {"rms_value", contract.error.rms_value},
            {"rms_error", contract.error.rms_error},
            {"max_error", contract.error.expected_max_error},
            {"against", Json::array()}};
  for (const ReferenceOutlook& reference : contract.against)
    json["against"].push_back({{"reference", reference.label},
                               {"rms_difference", reference.pass.rms_difference},
                               {"max_difference", reference.pass.expected_max_difference},
                               {"failing_share", reference.pass.failing_share},
                               {"operand_share", or_null(reference.operand_share)},
                               {"pass_probability", reference.pass.pass_probability}});
  return json;
}

Json kernel_json(const PlannedKernel& kernel, const Device& device) {
  Json json{{"entry", kernel.entry}, {"blocks", kernel.blocks}, {"threads", kernel.threads}, {"occupancy", nullptr}};
  if (const auto held = occupancy_of(kernel, device)) json["occupancy"] = to_json(*held);
  return json;
}

Json stage_json(const PlannedStage& stage, const Device& device) {
  Json json{{"problem", spell(stage.problem)},
            {"verdicts", Json::array()},
            {"solver", stage.solver},
            {"configuration", stage.configuration},
            {"predicted_ms", or_null(stage.predicted_ms)},
            {"waves", stage.waves},
            {"edge_waste", stage.edge_waste},
            {"kernels", Json::array()}};
  for (const Verdict& verdict : stage.verdicts)
    json["verdicts"].push_back({{"solver", verdict.solver},
                                {"supported", verdict.supported},
                                {"reason", verdict.reason},
                                {"configuration", verdict.configuration},
                                {"predicted_ms", or_null(verdict.predicted_ms)}});
  for (const PlannedKernel& kernel : stage.kernels) json["kernels"].push_back(kernel_json(kernel, device));
  return json;
}

}  // namespace

Json to_json(const ExplainReport& report) {
  const PlanReport& plan = report.plan;
  Json json{{"problem", spell(plan.problem)},  {"device", name(plan.device)},
            {"device_name", plan.device_name}, {"tensors", Json::array()},
            {"sums", Json::array()},           {"flop", plan.work.flop},
            {"byte", plan.work.byte},          {"flop_per_byte", report.flop_per_byte},
            {"atol", report.tolerance.atol},   {"rtol", report.tolerance.rtol},
            {"contracts", Json::array()},      {"conclusions", report.conclusions},
            {"stages", Json::array()},         {"not_compiled", plan.not_compiled}};
  for (const TensorSize& tensor : report.tensors)
    json["tensors"].push_back({{"name", tensor.name},
                               {"shape", tensor.shape},
                               {"dtype", name(tensor.dtype)},
                               {"elements", tensor.elements},
                               {"bytes", tensor.bytes}});
  for (const SumSizes& sums : report.sums)
    json["sums"].push_back(
        {{"problem", spell(sums.problem)}, {"least", sums.least}, {"mean", sums.mean}, {"most", sums.most}});
  for (const ContractOutlook& contract : report.contracts) json["contracts"].push_back(contract_json(contract));
  for (const PlannedStage& stage : plan.stages) json["stages"].push_back(stage_json(stage, plan.device));
  return json;
}

}  // namespace tapconv::cli
