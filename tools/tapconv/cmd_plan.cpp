#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "commands.hpp"
#include "expected_errors.hpp"
#include "json.hpp"
#include "options.hpp"

namespace tapconv::cli {
namespace {

void print_text(const ExpectedErrors& expected) {
  std::vector<std::string> errors;
  for (const auto& [arithmetic, error] : expected.errors)
    errors.push_back(fmt::format("{} RMS {:.2g}, max {:.2g}", arithmetic, error.rms_error, error.expected_max_error));
  fmt::print("  error   expected on drawn tensors: {}\n", fmt::join(errors, "; "));
  if (expected.against_tf32)
    fmt::print("  pass    fp32 against a tf32 reference: {:.2g} % of the outputs beyond {} + {} |reference| expected\n",
               100 * expected.against_tf32->failing_share, expected.tolerance, expected.tolerance);
}

void print_shapes(const PlanReport& report) {
  const Problem& problem = report.problem;
  const auto print_shape = [](const char* tensor, const std::vector<std::int64_t>& shape) {
    fmt::print("  {:<8}{}\n", tensor, fmt::join(shape, " x "));
  };
  print_shape("input", report.input_shape);
  print_shape("weight", report.weight_shape);
  if (problem.bias) print_shape("bias", {bias_count(problem)});
  if (problem.kind == Kind::depthwise_separable) {
    print_shape("pointwise weight ", pointwise_weight_shape(problem));
    if (problem.bias) print_shape("pointwise bias ", {pointwise_bias_count(problem)});
  }
  if (problem.residual) print_shape("residual ", report.output_shape);
  print_shape("output", report.output_shape);
}

std::string verdict_text(const Verdict& verdict) {
  if (!verdict.supported) return verdict.reason;
  return verdict.predicted_ms ? fmt::format("{:.3g} ms expected, {}", *verdict.predicted_ms, verdict.configuration)
                              : "takes it";
}

void print_kernel(const PlannedKernel& kernel) {
  fmt::print("    kernel    {}: {} blocks of {} threads", kernel.entry, kernel.blocks, kernel.threads);
  if (kernel.resources)
    fmt::print(", {} registers and {} bytes of local memory a thread, {} bytes of shared memory",
               kernel.resources->registers, kernel.resources->local_bytes,
               kernel.resources->static_shared_bytes + kernel.dynamic_shared_bytes);
  fmt::print("\n");
}

void print_stage(const PlannedStage& stage, bool only) {
  if (!only) fmt::print("  {}\n", spell(stage.problem));
  for (const Verdict& verdict : stage.verdicts) fmt::print("    {:<10}{}\n", verdict.solver, verdict_text(verdict));
  fmt::print("    chosen    {}: {}{}\n", stage.solver, stage.configuration,
             stage.tuned ? " (measured: from the plan database)" : "");
  if (!stage.predicted_ms) return;
  fmt::print("    expected  {:.3g} ms", *stage.predicted_ms);
  if (stage.floor)
    fmt::print(": limit is {:.3g} % of it, reach {:.3g} %", 100 * stage.floor->limit_ms / *stage.predicted_ms,
               100 * stage.floor->reach_ms / *stage.predicted_ms);
  fmt::print("\n    fit       {:.3g} waves of tiles, {:.1f} % of the products at edges wasted\n", stage.waves,
             100 * stage.edge_waste);
  fmt::print("    sums      {}\n", stage.k_order);
  if (stage.packed_bytes > 0)
    fmt::print("    packed    {} bytes, if weights are packed beforehand\n", stage.packed_bytes);
  for (const PlannedKernel& kernel : stage.kernels) print_kernel(kernel);
}

void print_text(const PlanReport& report) {
  fmt::print("{}\n", spell(report.problem));
  print_shapes(report);
  fmt::print("  work    {:.4g} GFLOP, {:.4g} GB at least\n", report.work.flop * 1e-9, report.work.byte * 1e-9);
  for (const TimeFloor& floor : report.floors)
    fmt::print("  floor   {}an {}: limit {:.3g} ms, reach {:.3g} ms{}, bound by {}\n",
               floor.device_name == report.device_name ? "on " : "for comparison, on ", floor.device_name,
               floor.limit_ms, floor.reach_ms, floor.reach_derived ? " (derived)" : "", floor.bound_by);
  print_text(expected_errors(report.problem));
  fmt::print("{} ({})\n", name(report.device), report.device_name);
  for (const PlannedStage& stage : report.stages) print_stage(stage, report.stages.size() == 1);
  if (report.workspace_bytes > 0) fmt::print("  workspace {} bytes\n", report.workspace_bytes);
  if (!report.not_compiled.empty()) fmt::print("  not compiled: {}\n", report.not_compiled);
}

/// The units alone, so that the output of one can be compiled; a comment tells several apart.
void print_sources(const std::vector<PlannedSource>& sources) {
  for (const PlannedSource& source : sources) {
    if (sources.size() > 1)
      fmt::print("{}// {} of {}\n", &source == &sources.front() ? "" : "\n", source.entry, source.stage);
    fmt::print("{}", source.text);
  }
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    bool source = false, inlined = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan");
  options->problem.add(*command);
  options->device.add(*command);
  options->device.add_threads(*command);
  CLI::Option* source = command->add_flag("--source", options->source)->excludes(command->get_option("--json"));
  command->add_flag("--inline", options->inlined)->needs(source);
  command->callback([options, &exit_code] {
    exit_code = exit_pass;
    if (options->source)
      return print_sources(plan_sources(options->problem.problem(), options->device.chosen(), options->inlined));
    const PlanReport report = plan(options->problem.problem(), options->device.chosen());
    if (options->device.json)
      print(to_json(report));
    else
      print_text(report);
  });
}

}  // namespace tapconv::cli
