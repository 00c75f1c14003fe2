#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench_compare.hpp"
#include "bench_suite.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

void print_entry(const BenchEntry& entry) {
  fmt::print("  {:>9.3f}{:>11}{:>8}{:>11} {:<14}{:<14}{}{}{}{}\n", entry.spaced_ms,
             entry.sustained_ms > 0 ? fmt::format("{:.3f}", entry.sustained_ms) : "-",
             entry.reach_share ? fmt::format("{:.0f} %", 100 * *entry.reach_share) : "-",
             entry.rms_error ? fmt::format("{:.1e}", *entry.rms_error) : "-", entry.layout, entry.arithmetic,
             entry.name, entry.notes.empty() ? "" : fmt::format(" ({})", fmt::join(entry.notes, ", ")),
             entry.max_bound_ratio > 1 ? "  WRONG: outputs beyond the bound" : "",
             entry.implausible ? fmt::format("  IMPLAUSIBLE: {}", entry.doubt) : "");
}

void print_text(const BenchReport& report) {
  fmt::print("{}\n{} ({})\n", spell(report.problem), name(report.device), report.device_name);
  if (report.floor)
    fmt::print("  floor: limit {:.3g} ms, reach {:.3g} ms, bound by {}\n", report.floor->limit_ms,
               report.floor->reach_ms, report.floor->bound_by);
  fmt::print("  {:>9}{:>11}{:>8}{:>11} {:<14}{:<14}{}\n", "spaced ms", "sustained", "reach", "RMS error", "layout",
             "arithmetic", "");
  print_entry(report.engine);
  for (const BenchEntry& entry : report.references) print_entry(entry);
  for (const BenchReport::Framework& framework : report.frameworks) {
    if (framework.entry)
      print_entry(*framework.entry);
    else
      fmt::print("  {}: not measured: {}\n", framework.name, framework.reason);
  }
  fmt::print("  {} rounds{}{}", report.rounds, report.power_capped ? ", power capped" : "",
             report.dropped_rounds ? fmt::format(", {} dropped for slowdown", report.dropped_rounds) : "");
  if (!report.trials.empty()) {
    const auto ran = std::ranges::count(report.trials, std::string(), &BenchReport::Trial::reason);
    fmt::print("; best of {} reference configurations ({} more were refused)", ran, std::ssize(report.trials) - ran);
  }
  if (report.ratio) {
    const BenchReport::Ratio& ratio = *report.ratio;
    fmt::print("\nReference time / ours: {:.3g} ({}{:.3g} to {:.3g}{})", ratio.median,
               report.rounds < 6 ? "" : "95 %: ", ratio.low, ratio.high,
               ratio.converged ? "" : "; not converged to 2 %");
    if (ratio.arithmetic != report.engine.arithmetic)
      fmt::print("\nThe reference computes in another arithmetic: {}, not {}.", ratio.arithmetic,
                 report.engine.arithmetic);
  }
  if (!report.as_declared) fmt::print("\nWRONG: the engine does not compute as its contract says");
  fmt::print("\n");
}

/// Returns the exit code.
int run_single(BenchRequest request, bool json_wanted) {
  BenchReport report;
  {
    ProgressBar bar;
    request.progress = bar.callback();
    report = bench(request);
  }
  if (json_wanted) {
    Json json = to_json(report);
    json["seed"] = request.seed;
    json["protocol"] = protocol_json(request);
    print(json);
  } else {
    print_text(report);
  }
  const bool wrong = report.engine.max_bound_ratio > 1 || !report.as_declared;
  const bool unconverged = report.ratio && !report.ratio->converged;
  return wrong ? exit_incorrect : unconverged ? exit_unconverged : exit_pass;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    SuiteOptions suite;
    DeviceOptions device;
    BenchRequest request;
    std::string against, seed = "0", markdown;
    std::vector<std::string> compare;
    bool force = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench");
  options->problem.add(*command, false);
  options->device.add(*command);
  options->device.add_threads(*command);
  options->suite.add(*command);
  command->add_option("--markdown", options->markdown)->check(expect_value);
  command->add_option("--compare", options->compare)->expected(2);
  command->add_flag("--force", options->force);
  command->add_option("--against", options->against);
  command->add_option("--seed", options->seed);
  command->add_option("--rounds", options->request.rounds);
  command->add_option("--idle-ms", options->request.idle_ms);
  command->add_option("--sustained-s", options->request.sustained_s);
  command->add_option("--finalists", options->request.finalists);
  command->add_option("--worker-timeout-s", options->request.worker_timeout_s);
  command->callback([options, &exit_code] {
    const bool compares = !options->compare.empty();
    if (options->force && !compares) throw Error(ErrorCode::usage, "--force needs --compare");
    if (compares) {
      if (!options->suite.suite.empty() || !options->problem.text.empty())
        throw Error(ErrorCode::usage, "bench takes two files to --compare, or something to time");
      exit_code = run_comparison(options->compare[0], options->compare[1], options->force, options->device.json);
      return;
    }
    BenchRequest& request = options->request;
    request.device = options->device.chosen();
    request.against = split(options->against);
    request.seed = static_cast<std::uint64_t>(parse_number("seed", options->seed, 0));
    SuiteOptions& suite = options->suite;
    if (suite.suite.empty() == options->problem.text.empty())
      throw Error(ErrorCode::usage,
                  "bench takes a problem, --suite and a list of problems, or --compare and two files");
    if (suite.suite.empty()) {
      suite.expect_suite();
      if (!options->markdown.empty()) throw Error(ErrorCode::usage, "--markdown needs --suite");
      request.problem = options->problem.problem();
      exit_code = run_single(request, options->device.json);
    } else {
      suite.batch = options->problem.batch;
      suite.json = options->device.json;
      exit_code = run_suite(suite, options->markdown, request);
    }
  });
}

}  // namespace tapconv::cli
