#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"

namespace tapconv::cli {
namespace {

void print_entry(const BenchEntry& entry) {
  fmt::print("  {:>9.3f}{:>11.3f}{:>8} {:<14}{:<14}{}{}{}{}\n", entry.spaced_ms, entry.sustained_ms,
             entry.reach_share ? fmt::format("{:.0f} %", 100 * *entry.reach_share) : "-", entry.layout,
             entry.arithmetic, entry.name,
             entry.notes.empty() ? "" : fmt::format(" ({})", fmt::join(entry.notes, ", ")),
             entry.max_bound_ratio > 1 ? "  WRONG: outputs beyond the bound" : "",
             entry.implausible ? "  IMPLAUSIBLE: below the limit" : "");
}

void print_text(const BenchReport& report) {
  fmt::print("{}\n{} ({})\n", spell(report.problem), name(report.device), report.device_name);
  if (report.floor)
    fmt::print("  floor: limit {:.3g} ms, reach {:.3g} ms, bound by {}\n", report.floor->limit_ms,
               report.floor->reach_ms, report.floor->bound_by);
  fmt::print("  {:>9}{:>11}{:>8} {:<14}{:<14}{}\n", "spaced ms", "sustained", "reach", "layout", "arithmetic", "");
  print_entry(report.engine);
  for (const BenchEntry& entry : report.references) print_entry(entry);
  fmt::print("  {} rounds{}{}", report.rounds, report.power_capped ? ", power capped" : "",
             report.dropped_rounds ? fmt::format(", {} dropped for slowdown", report.dropped_rounds) : "");
  if (report.considered > 0)
    fmt::print("; best of {} reference configurations ({} more were refused)", report.considered, report.refused);
  if (report.ratio) {
    const BenchReport::Ratio& ratio = *report.ratio;
    fmt::print("\nReference time / ours: {:.3g} ({}{:.3g} to {:.3g}{})", ratio.median,
               report.rounds < 6 ? "" : "95 %: ", ratio.low, ratio.high,
               ratio.converged ? "" : "; not converged to 2 %");
    if (report.references.front().arithmetic != report.engine.arithmetic)
      fmt::print("\nThe reference computes in another arithmetic: {}, not {}.", report.references.front().arithmetic,
                 report.engine.arithmetic);
  }
  if (!report.as_declared) fmt::print("\nWRONG: the engine does not compute as its contract says");
  fmt::print("\n");
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    BenchRequest request;
    std::string seed = "0";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench");
  options->problem.add(*command);
  options->device.add(*command);
  options->device.add_threads(*command);
  command->add_option("--against", options->request.against);
  command->add_option("--seed", options->seed);
  command->add_option("--rounds", options->request.rounds);
  command->add_option("--idle-ms", options->request.idle_ms);
  command->add_option("--sustained-s", options->request.sustained_s);
  command->callback([options, &exit_code] {
    BenchRequest& request = options->request;
    request.problem = options->problem.problem();
    request.device = options->device.chosen();
    request.seed = static_cast<std::uint64_t>(parse_number("seed", options->seed, 0));
    BenchReport report;
    {
      ProgressBar bar;
      request.progress = bar.callback();
      report = bench(request);
    }
    if (options->device.json) {
      Json json = to_json(report);
      json["seed"] = request.seed;
      print(json);
    } else {
      print_text(report);
    }
    const bool wrong = report.engine.max_bound_ratio > 1 || !report.as_declared;
    const bool unconverged = report.ratio && !report.ratio->converged;
    exit_code = wrong ? exit_incorrect : unconverged ? exit_unconverged : exit_pass;
  });
}

}  // namespace tapconv::cli
