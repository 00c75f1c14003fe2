#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"

namespace tapconv::cli {
namespace {

void print_stage(const CheckStage& stage, const CheckReport& report) {
  const std::vector<CheckCase>& cases = stage.name == "full" ? report.cases : stage.cases;
  std::int64_t outputs = 0;
  for (const CheckCase& item : cases) outputs += item.outputs;
  std::string about = stage.reason;
  if (about.empty() && !cases.empty()) about = fmt::format("{} sets of tensors, {} outputs", cases.size(), outputs);
  if (stage.problem != spell(report.problem) && !cases.empty()) about += fmt::format(", of {}", stage.problem);
  fmt::print("  {:<15}{:<9}{}\n", stage.name, name(stage.result), about);
  for (const std::string& note : stage.notes) fmt::print("  {:<24}{}\n", "", note);
}

std::string ratio_text(double ratio) { return std::isfinite(ratio) ? fmt::format("{:.3g}", ratio) : "infinite"; }

void print_diagnosis(const Diagnosis& diagnosis) {
  for (const Diagnosis::Worst& one : diagnosis.worst)
    fmt::print("  ({}) is {:.9g}, exact {:.9g}, bound {:.3g}\n", fmt::join(one.place, ", "), one.actual, one.expected,
               one.bound);
  for (const Diagnosis::Group& group : diagnosis.groups)
    fmt::print("  {}: {} of {} wrong, error/bound up to {}\n", group.what, group.wrong, group.outputs,
               ratio_text(group.max_ratio));
  for (const Diagnosis::Bin& bin : diagnosis.histogram)
    fmt::print("  error/bound {} to {}: {} outputs\n", ratio_text(bin.from), ratio_text(bin.to), bin.outputs);
  if (!diagnosis.also.empty()) fmt::print("  explained as well by: {}\n", fmt::join(diagnosis.also, ", "));
}

void print_text(const CheckReport& report, const std::string& drawn_note) {
  fmt::print("{}\n{} on {} ({})\n", spell(report.problem), report.solver, name(report.device), report.device_name);
  fmt::print("{}", drawn_note);
  if (std::ranges::any_of(report.stages, [](const CheckStage& stage) { return !stage.cases.empty(); }))
    fmt::print("  seed of the stages: {}\n", report.secret_seed);
  fmt::print("  {:<9}{:>12}{:>12}{:>14}{:>12}{:>12}{:>14}\n", "tensors", "outputs", "beyond", "worst/bound",
             "max error", "RMS error", "RMS of FMAs");
  for (const CheckCase& item : report.cases)
    fmt::print("  {:<9}{:>12}{:>12}{:>14.3g}{:>12.3g}{:>12.3g}{:>14.3g}\n", item.tensors, item.outputs, item.violations,
               item.worst_ratio, item.max_error, item.rms_error, item.sequential_rms_error);
  for (const CheckStage& stage : report.stages) print_stage(stage, report);
  if (report.diagnosis) print_diagnosis(*report.diagnosis);
  fmt::print("{}\n", report.sentence);
}

std::optional<std::int64_t> parse_samples(const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "all") return 0;
  return parse_number("samples", text, 1);
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    TensorOptions tensors;
    std::string output, against, samples, solver, stages;
    bool quick = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check");
  options->problem.add(*command);
  options->device.add(*command);
  options->device.add_threads(*command);
  options->tensors.add(*command);
  command->add_option("--output", options->output)->check(expect_value);
  command->add_option("--against", options->against);
  command->add_option("--samples", options->samples);
  command->add_option("--solver", options->solver)->check(expect_value);
  CLI::Option* stages = command->add_option("--stages", options->stages)->check(expect_value);
  command->add_flag("--quick", options->quick)->excludes(stages);
  refuse_option(*command, "--out", "check writes no tensor: --output names a result to judge; run --out writes one");
  command->callback([options, command, &exit_code] {
    CheckRequest request;
    request.device = options->device.chosen();
    request.tensors = options->tensors.source();
    request.problem = sized_by_input(options->problem.problem(), request.tensors);
    if (!options->output.empty()) {
      request.output = read_tensor(options->output);
      // Judging needs no device.
      if (options->device.device.empty()) request.device = Device{};
    }
    request.against = options->against;
    request.samples = parse_samples(options->samples);
    request.solver = options->solver;
    request.stages = options->quick ? std::vector<std::string>{"full", "fingerprint"} : split(options->stages);
    if (command->count("--seed") > 0) request.secret_seed = request.tensors.seed;
    CheckReport report;
    {
      ProgressBar bar;
      request.progress = bar.callback();
      report = check(request);
    }
    if (options->device.json) {
      Json json = to_json(report);
      json["seed"] = request.tensors.seed;
      print(json);
    } else {
      print_text(report, options->tensors.drawn_note(request.problem));
    }
    exit_code = report.passed ? exit_pass : exit_incorrect;
  });
}

}  // namespace tapconv::cli
