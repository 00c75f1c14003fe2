#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "suite_options.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

bool names_file(const std::string& source) {
  return source.find(".npy") != std::string::npos || source.find(".safetensors") != std::string::npos;
}

void print_entry(const FingerprintEntry& entry) {
  fmt::print("{}{} ({}): {}{}\n", entry.name,
             entry.configurations > 1 ? fmt::format(", {} configurations", entry.configurations) : "",
             fmt::join(entry.layouts, ", "), entry.arithmetic,
             entry.alternatives.empty() ? "" : fmt::format(": {}", fmt::join(entry.alternatives, ", ")));
  fmt::print("  added: {}; RMS error {:.3g}, of a chain of fused multiply-adds {:.3g}; {} outputs\n",
             name(entry.summation), entry.rms_error, entry.chain_rms_error, entry.outputs);
  fmt::print("  {:<12}{:>8}{:>13}{:>14}\n", "hypothesis", "slope", "correlation", "RMS distance");
  for (const FingerprintHypothesis& one : entry.hypotheses) {
    if (one.possible)
      fmt::print("  {:<12}{:>8.3f}{:>13.3f}{:>14.3g}{}\n", one.arithmetic, one.slope, one.correlation, one.rms_distance,
                 one.as_good && entry.arithmetic != "unknown" ? "  *" : "");
    else
      fmt::print("  {:<12}{:>8}{:>13}{:>14}\n", one.arithmetic, "-", "-", "-");
  }
}

/// How PyTorch's arithmetic compares with the published one; empty if nobody can say.
std::string agreement(const FingerprintReport& report) {
  if (!report.agrees) return "";
  return fmt::format("{} the published {}", *report.agrees ? "agrees with" : "DISAGREES with",
                     report.reference_arithmetic);
}

void print_text(const FingerprintReport& report) {
  fmt::print("{}\n{} ({})\n", spell(report.problem), name(report.device), report.device_name);
  for (const FingerprintEntry& entry : report.entries) print_entry(entry);
  for (const FingerprintRefusal& refusal : report.refusals)
    fmt::print("{}: not computed: {}\n", refusal.name, refusal.reason);
  if (report.agrees) fmt::print("PyTorch {}\n", agreement(report));
  if (!report.as_declared) fmt::print("WRONG: the engine does not compute as its contract says\n");
}

bool wrong(const FingerprintReport& report) { return !report.as_declared || !report.agrees.value_or(true); }

/// Of a suite's rows, those of earlier runs included. That PyTorch was asked for a published arithmetic and did not
/// answer is no agreement.
int exit_code_of(const Json& document) {
  const Json& of = document.at("of");
  const bool torch = std::ranges::find(of, Json("torch")) != of.end();
  int code = exit_pass;
  for (const Json& row : document.at("rows")) {
    const Json& report = row.at("report");
    if (!report.is_null() && (report.at("as_declared") == false || report.at("agrees") == false)) return exit_incorrect;
    const bool unanswered = report.is_null() || report.at("entries").empty() ||
                            (torch && report.at("reference_arithmetic") != "" && report.at("agrees").is_null());
    if (unanswered) code = exit_environment;
  }
  return code;
}

void print_row(const FingerprintRow& row) {
  if (!row.report) return fmt::print("{:<10} not computed: {}\n", row.named.name, row.reason);
  std::vector<std::string> found;
  for (const FingerprintEntry& entry : row.report->entries)
    found.push_back(fmt::format("{} {}", entry.name, entry.arithmetic));
  for (const FingerprintRefusal& refusal : row.report->refusals)
    found.push_back(fmt::format("{} not computed: {}", refusal.name, refusal.reason));
  if (row.report->agrees) found.push_back(agreement(*row.report));
  fmt::print("{:<10} {}{}\n", row.named.name, fmt::join(found, "; "), row.report->as_declared ? "" : "; WRONG");
}

/// Returns the exit code.
int run_single(FingerprintRequest request, bool json_wanted) {
  FingerprintReport report;
  {
    ProgressBar bar;
    request.progress = bar.callback();
    report = fingerprint(request);
  }
  if (json_wanted) {
    Json json = to_json(report);
    json["seed"] = request.tensors.seed;
    print(json);
  } else {
    print_text(report);
  }
  return wrong(report) ? exit_incorrect : report.entries.empty() ? exit_environment : exit_pass;
}

/// Returns the exit code.
int run_whole_suite(const SuiteOptions& options, FingerprintRequest request) {
  SuiteRun run(options,
               fmt::format("tapconv fingerprint --suite {} --of {}", options.suite, fmt::join(request.of, ",")),
               request.device, {{"of", request.of}, {"protocol", {{"seed", request.tensors.seed}}}});
  {
    ProgressBar bar;
    request.progress = bar.callback();
    fingerprint_suite(run.missing(), request, [&](const FingerprintRow& row) {
      run.add(row.named, row.date, to_json(row));
      if (!options.json) print_row(row);
    });
  }
  run.finish();
  return exit_code_of(run.json());
}

}  // namespace

void add_fingerprint(CLI::App& app, int& exit_code) {
  struct Options {
    ProblemOptions problem;
    DeviceOptions device;
    TensorOptions tensors;
    SuiteOptions suite;
    std::string of = "engine";
    double worker_timeout_s = FingerprintRequest{}.worker_timeout_s;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("fingerprint");
  options->problem.add(*command, false);
  options->device.add(*command);
  options->device.add_threads(*command);
  options->tensors.add(*command);
  options->suite.add(*command);
  command->add_option("--of", options->of)->check(expect_value);
  command->add_option("--worker-timeout-s", options->worker_timeout_s);
  command->callback([options, &exit_code] {
    SuiteOptions& suite = options->suite;
    if (suite.suite.empty() == options->problem.text.empty())
      throw Error(ErrorCode::usage, "fingerprint takes a problem, or --suite and a list of problems");
    FingerprintRequest request;
    request.of.clear();
    for (const std::string& source : split(options->of)) {
      if (!names_file(source)) {
        request.of.push_back(source);
      } else if (request.output) {
        throw Error(ErrorCode::usage, fmt::format("of = {}; valid: one file at most", options->of));
      } else {
        request.output = read_tensor(source);
      }
    }
    request.device = options->device.chosen();
    // Judging a file needs no device.
    if (request.of.empty() && options->device.device.empty()) request.device = Device{};
    request.tensors = options->tensors.source();
    request.worker_timeout_s = options->worker_timeout_s;
    if (suite.suite.empty()) {
      suite.expect_suite();
      request.problem = sized_by_input(options->problem.problem(), request.tensors);
      exit_code = run_single(request, options->device.json);
    } else {
      suite.batch = options->problem.batch;
      suite.json = options->device.json;
      exit_code = run_whole_suite(suite, request);
    }
  });
}

}  // namespace tapconv::cli
