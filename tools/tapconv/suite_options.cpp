#include "suite_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "options.hpp"
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

/// `options` if they make sense together.
const SuiteOptions& sensible(const SuiteOptions& options) {
  expect_commit(options.commit);
  if (options.resume && options.out.empty()) refuse("--resume needs --out, the file to go on with");
  if (!options.out.empty()) expect_folder(options.out);
  return options;
}

}  // namespace

void SuiteOptions::add(CLI::App& command) {
  command.add_option("--suite", suite)->check(expect_value);
  command.add_option("--math", math)->check(expect_value);
  command.add_option("--shard", shard)->check(expect_value);
  command.add_option("--out", out)->check(expect_value);
  command.add_flag("--resume", resume);
  command.add_option("--commit", commit)->check(expect_value);
}

void SuiteOptions::expect_suite() const {
  const std::pair<const char*, bool> given[] = {{"math", !math.empty()},
                                                {"shard", !shard.empty()},
                                                {"out", !out.empty()},
                                                {"commit", !commit.empty()},
                                                {"resume", resume}};
  for (const auto& [option, is_given] : given) {
    if (is_given) refuse(fmt::format("--{} needs --suite", option));
  }
}

SuiteRun::SuiteRun(const SuiteOptions& options, const std::string& script, const Device& device, const Json& asked)
    : options_(sensible(options)),
      problems_(problems_of(options)),
      results_(header_of({.script = script, .suite = options.suite, .commit = options.commit}, device, asked),
               problems_) {
  if (options.resume) results_.resume(options.out);
  for (NamedProblem& one : shard_of(problems_, options.shard)) {
    if (!results_.has(one)) missing_.push_back(std::move(one));
  }
}

void SuiteRun::add(const NamedProblem& problem, const std::string& date, const Json& row) {
  results_.add(problem, date, row);
  write();
}

void SuiteRun::finish() const {
  write();
  if (options_.json) print(json());
}

void SuiteRun::write() const {
  if (!options_.out.empty()) publish(options_.out, json().dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace tapconv::cli
