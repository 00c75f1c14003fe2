#include "bench_suite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "commands.hpp"
#include "options.hpp"
#include "progress_bar.hpp"
#include "suite_file.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

Contract contract_named(const std::string& text) {
  for (const Contract contract : all_contracts) {
    if (name(contract) == text) return contract;
  }
  refuse(fmt::format("math = {}; valid: ieee, fp32, tf32, fp16, bf16, fp64, with commas between several", text));
}

/// As parse_problems(); a word that is nothing is answered with the lists that there are.
std::vector<NamedProblem> parsed(const std::string& suite) {
  try {
    return parse_problems(suite);
  } catch (const SpellingError& error) {
    if (suite.find_first_of("(@ ") != std::string::npos) throw;
    std::vector<std::string> lists;
    for (const ProblemList& list : problem_lists()) lists.push_back(list.name);
    refuse(fmt::format("{}\nvalid for --suite: a list ({}), a problem, or @FILE for the problems in a file",
                       error.what(), fmt::join(lists, ", ")));
  }
}

/// Every problem under its own contract, or under each of those in `math`. Those that a problem cannot have are refused
/// when it is measured.
std::vector<NamedProblem> problems_of(const SuiteOptions& options) {
  std::vector<NamedProblem> problems = parsed(options.suite);
  if (!options.batch.empty()) {
    for (NamedProblem& one : problems) one.problem.batch = parse_number("batch", options.batch, 1);
  }
  if (options.math.empty()) return problems;
  std::vector<NamedProblem> all;
  for (const NamedProblem& one : problems) {
    for (const std::string& text : split(options.math)) all.emplace_back(one).problem.contract = contract_named(text);
  }
  return all;
}

/// Of "2/3" the second, fifth, eighth, ... problem: neighbours, which are alike, go to different shards.
std::vector<NamedProblem> shard_of(const std::vector<NamedProblem>& problems, const std::string& shard) {
  if (shard.empty()) return problems;
  const std::size_t slash = shard.find('/');
  if (slash == std::string::npos) refuse(fmt::format("shard = {}; valid: like 1/4", shard));
  const std::int64_t count = parse_number("shard", shard.substr(slash + 1), 1);
  const std::int64_t index = parse_number("shard", shard.substr(0, slash), 1, count);
  std::vector<NamedProblem> mine;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (static_cast<std::int64_t>(i) % count == index - 1) mine.push_back(problems[i]);
  }
  return mine;
}

void expect_commit(const std::string& commit) {
  const bool hexadecimal =
      std::ranges::all_of(commit, [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); });
  if (!commit.empty() && (!hexadecimal || commit.size() < 7 || commit.size() > 40))
    refuse(fmt::format("commit = {}; valid: 7 to 40 hexadecimal digits", commit));
}

bool wrong(const BenchReport& report) { return report.engine.max_bound_ratio > 1 || !report.as_declared; }

void print_row(const SuiteRow& row) {
  const std::string title = fmt::format("{} {}", row.named.name, name(row.named.problem.contract));
  if (!row.report) return fmt::print("{:<28} not measured: {}\n", title, row.reason);
  const BenchReport& report = *row.report;
  std::string line = fmt::format("{:<28}{:>9.3f} ms {}", title, report.engine.spaced_ms, report.engine.name);
  if (report.ratio)
    line += fmt::format("; {:.3f} ms {}, {:.2f} of ours", report.references.front().spaced_ms,
                        report.references.front().name, report.ratio->median);
  if (!report.refusal.empty()) line += fmt::format("; no reference: {}", report.refusal);
  for (const BenchReport::Framework& framework : report.frameworks)
    line += framework.entry ? fmt::format("; {:.3f} ms {}", framework.entry->spaced_ms, framework.name)
                            : fmt::format("; no {}: {}", framework.name, framework.reason);
  fmt::print("{}{}\n", line, wrong(report) ? "; WRONG" : "");
}

}  // namespace

void SuiteOptions::expect_suite() const {
  const std::pair<const char*, bool> given[] = {{"math", !math.empty()},     {"shard", !shard.empty()},
                                                {"out", !out.empty()},       {"markdown", !markdown.empty()},
                                                {"commit", !commit.empty()}, {"resume", resume}};
  for (const auto& [option, is_given] : given) {
    if (is_given) refuse(fmt::format("--{} needs --suite", option));
  }
}

int run_suite(const SuiteOptions& options, BenchRequest request) {
  expect_commit(options.commit);
  if (options.resume && options.out.empty()) refuse("--resume needs --out, the file to go on with");
  for (const std::string& file : {options.out, options.markdown}) {
    if (!file.empty()) expect_folder(file);
  }
  const std::vector<NamedProblem> problems = problems_of(options);
  SuiteResults results({.suite = options.suite, .commit = options.commit, .request = request}, problems);
  if (options.resume) results.resume(options.out);

  const auto write = [&] {
    if (!options.out.empty())
      publish(options.out, results.json().dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (!options.markdown.empty()) publish(options.markdown, markdown(results.json()));
  };
  std::vector<NamedProblem> missing;
  for (NamedProblem& one : shard_of(problems, options.shard)) {
    if (!results.has(one)) missing.push_back(std::move(one));
  }
  bool any_wrong = false, any_measured = missing.empty();
  {
    ProgressBar bar;
    request.progress = bar.callback();
    bench_suite(missing, request, [&](const SuiteRow& row) {
      results.add(row);
      write();
      if (!options.json) print_row(row);
      any_wrong = any_wrong || (row.report && wrong(*row.report));
      any_measured = any_measured || row.report;
    });
  }
  write();
  if (options.json) print(results.json());
  return any_wrong ? exit_incorrect : any_measured ? exit_pass : exit_environment;
}

}  // namespace tapconv::cli
