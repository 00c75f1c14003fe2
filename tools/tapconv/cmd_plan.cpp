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

void print_text(const PlanReport& report) {
  fmt::print("{}\n", spell(report.problem));
  print_shapes(report);
  fmt::print("  work    {:.4g} GFLOP, {:.4g} GB at least\n", report.work.flop * 1e-9, report.work.byte * 1e-9);
  for (const TimeFloor& floor : report.floors)
    fmt::print("  floor   {}an {}: limit {:.3g} ms, reach {:.3g} ms, bound by {}\n",
               floor.device_name == report.device_name ? "on " : "for comparison, on ", floor.device_name,
               floor.limit_ms, floor.reach_ms, floor.bound_by);
  print_text(expected_errors(report.problem));
  fmt::print("{} ({})\n", name(report.device), report.device_name);
  for (const Verdict& verdict : report.verdicts)
    fmt::print("  {:<10}{}\n", verdict.solver, verdict.supported ? "takes it" : verdict.reason);
  fmt::print("  chosen    {}: {}\n", report.solver, report.configuration);
  for (const PlanReport::Kernel& kernel : report.kernels)
    fmt::print(
        "  kernel    {} blocks of {} threads, {} registers and {} bytes of local memory a thread, {} bytes of shared "
        "memory\n",
        kernel.blocks, kernel.threads, kernel.registers, kernel.local_bytes, kernel.static_shared_bytes);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("plan");
  options->problem.add(*command);
  options->device.add(*command);
  options->device.add_threads(*command);
  command->callback([options, &exit_code] {
    const PlanReport report = plan(options->problem.problem(), options->device.chosen());
    if (options->device.json)
      print(to_json(report));
    else
      print_text(report);
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
