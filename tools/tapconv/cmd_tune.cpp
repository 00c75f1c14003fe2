#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

struct TuneOptions {
  std::vector<std::string> sources;
  DeviceOptions device;
  std::string seed = "0";
  double seconds = 0;  ///< 0: ten for each problem
  TuneRequest request;
};

std::string note(const TunedCandidate& candidate) {
  return candidate.problem.empty() ? candidate.is_default ? "  (default)" : "" : "  " + candidate.problem;
}

void print_text(const TuneReport& report) {
  fmt::print("{}\n{} ({})\n", spell(report.problem), name(report.device), report.device_name);
  for (const TunedStage& stage : report.stages) {
    if (report.stages.size() > 1) fmt::print("  {}\n", stage.best.problem);
    fmt::print("  {:>11}{:>13}{:>10}  {}\n", "measured ms", "predicted ms", "ratio", "configuration");
    for (const TunedCandidate& candidate : stage.candidates) {
      if (candidate.rounds == 0)
        fmt::print("  {:>11}{:>13.4g}{:>10}", "-", candidate.predicted_ms, "-");
      else
        fmt::print("  {:>11.4g}{:>13.4g}{:>10.2f}", candidate.measured_ms, candidate.predicted_ms,
                   candidate.predicted_ms / candidate.measured_ms);
      fmt::print("  {} {}{}\n", candidate.solver, candidate.configuration, note(candidate));
    }
    if (stage.untried > 0) fmt::print("  {} more were not tried\n", stage.untried);
  }
  if (!report.correct) fmt::print("WRONG: a candidate's outputs are not those of the default plan\n");
}

std::vector<Problem> chosen(const TuneOptions& options) {
  std::vector<Problem> problems;
  for (const std::string& source : options.sources) {
    for (const NamedProblem& named : problems_of(source)) problems.push_back(named.problem);
  }
  return problems;
}

/// Each problem gets an equal share of the time that is left.
std::vector<TuneReport> tune_all(const std::vector<Problem>& problems, const TuneOptions& options) {
  ProgressBar bar;
  const Progress progress = bar.callback();
  const auto count = static_cast<double>(problems.size());
  double left = options.seconds > 0 ? options.seconds : 10 * count;
  std::vector<TuneReport> reports;
  for (const Problem& problem : problems) {
    const auto done = static_cast<double>(reports.size());
    TuneRequest request = options.request;
    request.problem = problem;
    // A problem whose share is used up is tuned as shortly as can be.
    request.seconds = std::max(0.1, left / (count - done));
    request.progress = [&](double fraction, std::string_view doing) { progress((done + fraction) / count, doing); };
    reports.push_back(tune(request));
    left -= reports.back().seconds;
  }
  return reports;
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command = app.add_subcommand("tune");
  command->add_option("problem", options->sources)->required();
  options->device.add(*command);
  command->add_option("--time", options->seconds)->check(CLI::Range(0.1, 86400.0));
  command->add_option("--top", options->request.top);
  command->add_flag("--any-order", options->request.any_order);
  command->add_option("--idle-ms", options->request.idle_ms);
  command->add_option("--seed", options->seed);
  command->callback([options, &exit_code] {
    options->request.device = options->device.device.empty() ? parse_device("cuda") : options->device.chosen();
    options->request.seed = static_cast<std::uint64_t>(parse_number("seed", options->seed, 0));
    const std::vector<TuneReport> reports = tune_all(chosen(*options), *options);
    if (options->device.json) {
      print(to_json(reports));
    } else {
      for (const TuneReport& report : reports) print_text(report);
      fmt::print("written to {}\n", plan_file());
    }
    const bool correct = std::ranges::all_of(reports, &TuneReport::correct);
    exit_code = correct ? exit_pass : exit_incorrect;
  });
}

}  // namespace tapconv::cli
