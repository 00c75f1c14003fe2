#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

struct PlansOptions {
  std::vector<std::string> words;  ///< the action, then what it works on
  bool json = false;
};

void print_text(const std::vector<StoredPlan>& plans) {
  for (const StoredPlan& plan : plans)
    fmt::print("{}\n  {}, {} multiprocessors, version {}{}{}: {} {}, {:.4g} ms, {}\n", plan.problem, plan.device_name,
               plan.multiprocessors, plan.version, plan.strided ? ", strided" : "", plan.packed ? ", packed" : "",
               plan.solver, plan.configuration, plan.measured_ms, plan.date);
}

void expect_words(const PlansOptions& options, std::size_t least, std::size_t most, const char* what) {
  const std::size_t count = options.words.size() - 1;
  if (count < least || count > most)
    throw Error(ErrorCode::usage, fmt::format("plans {} takes {}", options.words.front(), what));
}

/// How many plans were `done` ("removed"), and in which file.
void print_count(const PlansOptions& options, std::size_t count, const char* done, const char* where,
                 const std::string& file) {
  if (options.json)
    print(Json{{"file", file}, {done, count}});
  else
    fmt::print("{} plans {} {} {}\n", count, done, where, file);
}

void list(const PlansOptions& options) {
  expect_words(options, 0, 0, "no more words");
  const std::vector<StoredPlan> plans = stored_plans();
  if (options.json) return print(to_json(plans));
  print_text(plans);
  if (plans.empty())
    fmt::print(stderr, "tapconv: no plans are stored ({})\n",
               plan_file().empty() ? "the plan database is off" : plan_file());
}

void merge(const PlansOptions& options) {
  expect_words(options, 1, options.words.size(), "the files to merge");
  const std::size_t count = merge_plans({options.words.begin() + 1, options.words.end()});
  print_count(options, count, "merged", "into", plan_file());
}

void export_to(const PlansOptions& options) {
  expect_words(options, 1, 1, "one file");
  print_count(options, export_plans(options.words[1]), "exported", "to", options.words[1]);
}

void forget(const PlansOptions& options) {
  expect_words(options, 1, 1, "one problem");
  print_count(options, forget_plans(parse_problem(options.words[1])), "removed", "from", plan_file());
}

}  // namespace

void add_plans(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<PlansOptions>();
  CLI::App* command = app.add_subcommand("plans");
  command->add_option("action", options->words);
  command->add_flag("--json", options->json);
  command->callback([options, &exit_code] {
    if (options->words.empty())
      throw Error(ErrorCode::usage, "plans needs an action: list, merge, export or forget (see tapconv plans --help)");
    const std::string& action = options->words.front();
    if (action == "list")
      list(*options);
    else if (action == "merge")
      merge(*options);
    else if (action == "export")
      export_to(*options);
    else if (action == "forget")
      forget(*options);
    else
      throw Error(ErrorCode::usage, fmt::format("plans {}; valid: list, merge, export, forget", action));
    exit_code = exit_pass;
  });
}

}  // namespace tapconv::cli
