#include "tapconv/explain.hpp"

#include <algorithm>
#include <span>

#include "engine/device.hpp"
#include "problem/ceilings.hpp"
#include "problem/parallel.hpp"
#include "problem/product_counts.hpp"
#include "workbench/explain_sentences.hpp"

namespace tapconv {
namespace {

std::vector<TensorSize> tensors_of(const Problem& problem) {
  std::vector<TensorSize> tensors;
  const auto add = [&](const char* name, const std::vector<std::int64_t>& shape, DType dtype) {
    const std::int64_t elements = element_count(shape);
    tensors.push_back({.name = name,
                       .shape = shape,
                       .dtype = dtype,
                       .elements = elements,
                       .bytes = elements * static_cast<std::int64_t>(element_bytes(dtype))});
  };
  add("input", input_shape(problem), problem.dtype);
  add("weight", weight_shape(problem), problem.dtype);
  if (problem.bias) add("bias", {bias_count(problem)}, problem.dtype);
  if (problem.kind == Kind::depthwise_separable) {
    add("pointwise weight", pointwise_weight_shape(problem), problem.dtype);
    if (problem.bias) add("pointwise bias", {pointwise_bias_count(problem)}, problem.dtype);
  }
  if (problem.residual) add("residual", output_shape(problem), problem.out_dtype);
  add("output", output_shape(problem), problem.out_dtype);
  return tensors;
}

/// The roundings that change operands of a type, and none. What rounds to a finer type than the operands' own changes
/// nothing.
std::vector<OperandRounding> roundings_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return {std::begin(all_operand_roundings), std::end(all_operand_roundings)};
    case DType::float16:
      return {OperandRounding::exact, OperandRounding::bf16};
    case DType::bfloat16:
      return {OperandRounding::exact, OperandRounding::fp16};
    case DType::float64:
      break;
  }
  return {OperandRounding::exact};
}

std::string label(OperandRounding rounding, DType dtype) {
  return std::string(rounding == OperandRounding::exact ? name(default_contract(dtype)) : name(rounding));
}

std::vector<ReferenceOutlook> references(const Problem& problem, OperandRounding own, const Tolerance& tolerance) {
  const OperandDistributions drawn = default_distributions(problem);
  const auto predicted = [&](OperandRounding reference, Accumulation accumulation) {
    return predict_pass(problem, {.rounding = own, .accumulation = accumulation},
                        {.rounding = reference, .accumulation = accumulation}, drawn, tolerance.atol, tolerance.rtol);
  };
  std::vector<ReferenceOutlook> outlooks;
  for (const OperandRounding rounding : roundings_of(problem.dtype))
    outlooks.push_back({.label = label(rounding, problem.dtype), .rounding = rounding, .pass = {}});
  // Seconds of work where outputs of 16 bits come from operands of 32.
  parallel_for(static_cast<std::int64_t>(outlooks.size()), [&](std::int64_t begin, std::int64_t end) {
    for (ReferenceOutlook& outlook : std::span(outlooks).subspan(begin, end - begin)) {
      outlook.pass = predicted(outlook.rounding, Accumulation::chain);
      if (!outlook.agrees()) outlook.operand_share = predicted(outlook.rounding, Accumulation::exact).failing_share;
    }
  });
  return outlooks;
}

/// The device's own ceilings; on a CPU those of a device to compare with.
Ceilings ceilings_of(const Device& device) {
  if (device.kind != Device::Kind::cpu) return planning_model(device, "").ceilings;
  return *std::ranges::find(known_ceilings(), false, &Ceilings::reach_derived);
}

std::vector<ContractOutlook> outlooks(const Problem& problem, const Ceilings& ceilings, const Tolerance& tolerance) {
  std::vector<ContractOutlook> all;
  const auto add = [&](Contract contract, TieRule rule) {
    Problem under = problem;
    under.contract = contract;
    under.tie_rule = rule;
    const OperandRounding own = operand_rounding(contract, rule);
    ContractOutlook outlook{.label = std::string(contract == Contract::tf32 ? name(own) : name(contract)),
                            .contract = contract,
                            .tie_rule = rule,
                            .floor = floor_time(under, ceilings),
                            .ridge_flop_per_byte = ridge_flop_per_byte(under, ceilings),
                            .error = {}};
    // Predictions know contracts by their rounding alone.
    const auto same = std::ranges::find(
        all, own, [](const ContractOutlook& other) { return operand_rounding(other.contract, other.tie_rule); });
    outlook.error = same != all.end()
                        ? same->error
                        : predict_error(under, arithmetic_of(contract, rule), default_distributions(under));
    outlook.against = same != all.end() ? same->against : references(under, own, tolerance);
    all.push_back(std::move(outlook));
  };
  for (const Contract contract : all_contracts) {
    if (!applies_to(contract, problem.dtype)) continue;
    add(contract, TieRule::away);
    if (contract == Contract::tf32) add(contract, TieRule::even);
  }
  return all;
}

}  // namespace

ExplainReport explain(const Problem& problem, const Device& device, const Tolerance& tolerance) {
  validate(problem);
  ExplainReport report{.plan = plan(problem, device),
                       .tensors = tensors_of(problem),
                       .tolerance = tolerance,
                       .contracts = outlooks(problem, ceilings_of(device), tolerance)};
  for (const Problem& stage : stages(problem)) {
    const auto [least, most, mean] = product_counts(stage);
    report.sums.push_back({.problem = stage, .least = least, .most = most, .mean = mean});
  }
  report.flop_per_byte = report.plan.work.flop / report.plan.work.byte;
  report.conclusions = conclusions(report);
  return report;
}

}  // namespace tapconv
