#include <fmt/format.h>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"

namespace tapconv::cli {
namespace {

void print_text(const CheckReport& report, const std::string& drawn_note) {
  fmt::print("{}\n{} on {} ({})\n", spell(report.problem), report.solver, name(report.device), report.device_name);
  fmt::print("{}", drawn_note);
  fmt::print("  {:<9}{:>12}{:>12}{:>14}{:>12}{:>12}{:>14}\n", "tensors", "outputs", "beyond", "worst/bound",
             "max error", "RMS error", "RMS of FMAs");
  for (const CheckCase& item : report.cases)
    fmt::print("  {:<9}{:>12}{:>12}{:>14.3g}{:>12.3g}{:>12.3g}{:>14.3g}\n", item.tensors, item.outputs, item.violations,
               item.worst_ratio, item.max_error, item.rms_error, item.sequential_rms_error);
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
    std::string output, against, samples;
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
  refuse_option(*command, "--out", "check writes no tensor: --output names a result to judge; run --out writes one");
  command->callback([options, &exit_code] {
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
