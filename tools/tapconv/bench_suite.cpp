#include "bench_suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.hpp"
#include "progress_bar.hpp"

namespace tapconv::cli {
namespace {

bool wrong(const BenchReport& report) { return report.engine.max_bound_ratio > 1 || !report.as_declared; }

void print_row(const SuiteRow& row) {
  const std::string title = fmt::format("{} {}", row.named.name, name(row.named.problem.contract));
  if (!row.report) return fmt::print("{:<28} not measured: {}\n", title, row.reason);
  const BenchReport& report = *row.report;
  std::string line = fmt::format("{:<28}{:>9.3f} ms {}", title, report.engine.spaced_ms, report.engine.name);
  if (report.ratio) line += fmt::format("; {}: {:.2f} of ours", report.ratio->reference, report.ratio->median);
  if (!report.refusal.empty()) line += fmt::format("; no reference: {}", report.refusal);
  for (const BenchReport::Framework& framework : report.frameworks)
    line += framework.entry ? fmt::format("; {:.3f} ms {}", framework.entry->spaced_ms, framework.name)
                            : fmt::format("; no {}: {}", framework.name, framework.reason);
  fmt::print("{}{}\n", line, wrong(report) ? "; WRONG" : "");
}

}  // namespace

Json protocol_json(const BenchRequest& request) {
  return {{"seed", request.seed},
          {"rounds", request.rounds},
          {"idle_ms", request.idle_ms},
          {"sustained_s", request.sustained_s},
          {"finalists", request.finalists}};
}

int run_suite(const SuiteOptions& options, const std::string& markdown_file, BenchRequest request) {
  if (!markdown_file.empty()) expect_folder(markdown_file);
  SuiteRun run(options,
               fmt::format("tapconv bench --suite {}{}{}", options.suite, request.against.empty() ? "" : " --against ",
                           fmt::join(request.against, ",")),
               request.device, {{"against", request.against}, {"protocol", protocol_json(request)}});
  const auto write_markdown = [&] {
    if (!markdown_file.empty()) publish(markdown_file, markdown(run.json()));
  };
  bool any_wrong = false, any_measured = run.missing().empty();
  {
    ProgressBar bar;
    request.progress = bar.callback();
    bench_suite(run.missing(), request, [&](const SuiteRow& row) {
      run.add(row.named, row.date, to_json(row));
      write_markdown();
      if (!options.json) print_row(row);
      any_wrong = any_wrong || (row.report && wrong(*row.report));
      any_measured = any_measured || row.report;
    });
  }
  write_markdown();
  run.finish();
  return any_wrong ? exit_incorrect : any_measured ? exit_pass : exit_environment;
}

}  // namespace tapconv::cli
