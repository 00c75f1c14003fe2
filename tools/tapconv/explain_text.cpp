#include "explain_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "explain_calculators.hpp"

namespace tapconv::cli {
namespace {

/// "268 MB", "2.4 GFLOP".
std::string scaled(double value, const char* unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; value >= 1000 && prefix + 1 < std::size(prefixes); ++prefix) value /= 1000;
  return fmt::format("{:.4g} {}{}", value, prefixes[prefix], unit);
}

void print_sizes(const ExplainReport& report) {
  for (const TensorSize& tensor : report.tensors)
    fmt::print("  {:<17}{:<24} {:<9}{:>14} elements {:>12}\n", tensor.name,
               fmt::format("{}", fmt::join(tensor.shape, " x ")), name(tensor.dtype), tensor.elements,
               scaled(static_cast<double>(tensor.bytes), "B"));
  for (const SumSizes& sums : report.sums) {
    const bool separable = report.sums.size() > 1, first = &sums == &report.sums.front();
    const std::string products =
        sums.least == sums.most
            ? fmt::format("{} products an output", sums.most)
            : fmt::format("{} to {} products an output, on average {:.5g}, without those of padding zeros", sums.least,
                          sums.most, sums.mean);
    fmt::print("  {:<17}{}\n", !separable ? "sums" : first ? "depthwise sums" : "pointwise sums", products);
  }
  fmt::print("  {:<17}{}, {} at least: {:.4g} FLOP a byte\n", "work", scaled(report.plan.work.flop, "FLOP"),
             scaled(report.plan.work.byte, "B"), report.flop_per_byte);
}

void print_floors(const ExplainReport& report) {
  const TimeFloor& floor = report.contracts.front().floor;
  fmt::print("contracts {}on {}{}\n", floor.device_name == report.plan.device_name ? "" : "(times for comparison) ",
             floor.device_name, floor.reach_derived ? " (reach derived)" : "");
  fmt::print("  {:<10}{:>10}{:>10}  {:<9}{:>12}{:>12}{:>12}\n", "", "limit ms", "reach ms", "bound by", "ridge FLOP/B",
             "RMS error", "max error");
  for (const ContractOutlook& contract : report.contracts)
    fmt::print("  {:<10}{:>10.3g}{:>10.3g}  {:<9}{:>12}{:>12.2g}{:>12.2g}\n", contract.label, contract.floor.limit_ms,
               contract.floor.reach_ms, contract.floor.bound_by,
               contract.ridge_flop_per_byte ? fmt::format("{:.3g}", *contract.ridge_flop_per_byte) : "-",
               contract.error.rms_error, contract.error.expected_max_error);
}

/// One line a contract, one column a reference.
void print_matrix(const ExplainReport& report, const char* title, const auto& value) {
  fmt::print("{}\n  {:<10}", title, "");
  for (const ReferenceOutlook& reference : report.contracts.front().against) fmt::print("{:>10}", reference.label);
  for (const ContractOutlook& contract : report.contracts) {
    fmt::print("\n  {:<10}", contract.label);
    for (const ReferenceOutlook& reference : contract.against) fmt::print("{:>10.2g}", value(reference.pass));
  }
  fmt::print("\n");
}

void print_errors(const ExplainReport& report) {
  fmt::print("expected on drawn tensors: against a reference (columns) with |difference| <= {} + {} |reference|\n",
             report.tolerance.atol, report.tolerance.rtol);
  print_matrix(report, "  % of the outputs that fail",
               [](const PassPrediction& pass) { return 100 * pass.failing_share; });
  print_matrix(report, "  probability that all pass", [](const PassPrediction& pass) { return pass.pass_probability; });
  for (const std::string& sentence : report.conclusions) fmt::print("  {}\n", sentence);
}

void print_stage(const PlannedStage& stage, const Device& device) {
  fmt::print("  {}\n", spell(stage.problem));
  for (const Verdict& verdict : stage.verdicts) {
    fmt::print("    {:<10}{}{}\n", verdict.solver,
               !verdict.supported ? verdict.reason
               : verdict.predicted_ms
                   ? fmt::format("{:.3g} ms expected, {}", *verdict.predicted_ms, verdict.configuration)
                   : "takes it",
               verdict.solver == stage.solver ? " (chosen)" : "");
  }
  for (const PlannedKernel& kernel : stage.kernels) {
    fmt::print("    kernel    {}: {} blocks of {} threads\n", kernel.entry, kernel.blocks, kernel.threads);
    if (const auto held = occupancy_of(kernel, device))
      fmt::print("    occupancy {}\n", text(*held, multiprocessor(device)));
  }
  if (stage.predicted_ms)
    fmt::print("    fit       {:.3g} waves of tiles, {:.1f} % of the products at edges wasted\n", stage.waves,
               100 * stage.edge_waste);
}

}  // namespace

void print_text(const ExplainReport& report) {
  fmt::print("{}\n", spell(report.plan.problem));
  print_sizes(report);
  print_floors(report);
  print_errors(report);
  fmt::print("solvers on {} ({})\n", name(report.plan.device), report.plan.device_name);
  for (const PlannedStage& stage : report.plan.stages) print_stage(stage, report.plan.device);
  if (!report.plan.not_compiled.empty()) fmt::print("  not compiled: {}\n", report.plan.not_compiled);
}

}  // namespace tapconv::cli
