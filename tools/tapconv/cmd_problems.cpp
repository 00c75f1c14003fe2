#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "json.hpp"
#include "options.hpp"
#include "problem_filter.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

struct ProblemsOptions {
  std::vector<std::string> sources;
  ProblemFilter filter;
  std::string batch, as;
  bool reduced = false, names = false, json = false;
};

const std::string& label(const NamedProblem& named, const std::string& spelling) {
  return named.name.empty() ? spelling : named.name;
}

/// `text` in lines of 80 columns, of which the first `indent` are left free from the second line on.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string result;
  std::size_t column = indent, begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (column > indent && column + 1 + (end - begin) > 80) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(begin, end - begin);
    column += end - begin;
    begin = end + 1;
  }
  return result;
}

void print_lists(const ProblemsOptions& options) {
  const std::vector<ProblemList>& lists = problem_lists();
  if (options.json) return print(to_json(lists));
  for (const ProblemList& list : lists) {
    if (options.names)
      fmt::print("{}\n", list.name);
    else
      fmt::print("{:<14}{:>4}  {}\n", list.name, list.problems.size(), wrapped(list.about, 20));
  }
}

/// Whether anything says which problems are meant; --json and --names do not.
bool names_problems(const CLI::App& command) {
  const auto options = command.get_options();
  return std::ranges::any_of(options, [](const CLI::Option* option) {
    return option->count() > 0 && !option->check_lname("json") && !option->check_lname("names");
  });
}

/// What the arguments stand for, filtered, then changed.
std::vector<NamedProblem> chosen(const ProblemsOptions& options) {
  std::vector<NamedProblem> all, kept;
  for (const std::string& source : options.sources) std::ranges::move(problems_of(source), std::back_inserter(all));
  if (options.sources.empty()) {
    for (const ProblemList& list : problem_lists()) std::ranges::copy(list.problems, std::back_inserter(all));
  }
  for (NamedProblem& named : all) {
    if (!options.filter.keeps(named)) continue;
    if (options.reduced) named.problem = reduced(named.problem);
    if (!options.batch.empty()) {
      named.problem.batch = parse_number("batch", options.batch, 1);
      validate(named.problem);
    }
    kept.push_back(std::move(named));
  }
  return kept;
}

Translation translate(const Problem& problem, const std::string& language) {
  if (language == "pytorch") return pytorch_call(problem);
  if (language == "benchdnn") return benchdnn_descriptor(problem);
  if (language == "miopen") return miopen_command(problem);
  return {.text = spell(problem), .reason = {}};
}

/// Returns the exit code.
int print_translations(const std::vector<NamedProblem>& problems, const std::string& language) {
  bool complete = true;
  for (const NamedProblem& named : problems) {
    const Translation translation = translate(named.problem, language);
    if (translation.text) {
      fmt::print("{}\n", *translation.text);
    } else {
      fmt::print(stderr, "tapconv: {}: {}\n", label(named, spell(named.problem)), translation.reason);
      complete = false;
    }
  }
  return complete || problems.size() > 1 ? exit_pass : exit_usage;
}

void print_table(const std::vector<NamedProblem>& problems) {
  std::size_t width = 0;
  for (const NamedProblem& named : problems) width = std::max(width, named.name.size());
  for (const NamedProblem& named : problems) {
    const std::string spelling = spell(named.problem);
    if (named.name.empty() || named.name == spelling)
      fmt::print("{}\n", spelling);
    else
      fmt::print("{:<{}}  {}\n", named.name, width, spelling);
  }
}

}  // namespace

void add_problems(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ProblemsOptions>();
  CLI::App* command = app.add_subcommand("problems");
  command->add_option("problem", options->sources);
  options->filter.add(*command);
  command->add_flag("--reduced", options->reduced);
  command->add_option("--batch", options->batch)->check(expect_value);
  CLI::Option* as =
      command->add_option("--as", options->as)->check(CLI::IsMember({"tapconv", "pytorch", "benchdnn", "miopen"}));
  CLI::Option* names = command->add_flag("--names", options->names)->excludes(as);
  command->add_flag("--json", options->json)->excludes(as)->excludes(names);
  command->callback([options, command, &exit_code] {
    exit_code = exit_pass;
    const bool lists = !names_problems(*command);
    if (lists && !options->names) return print_lists(*options);
    if (lists) print_lists(*options);
    const std::vector<NamedProblem> problems = chosen(*options);
    if (options->json)
      print(to_json(problems));
    else if (options->names)
      for (const NamedProblem& named : problems) fmt::print("{}\n", label(named, spell(named.problem)));
    else if (!options->as.empty())
      exit_code = print_translations(problems, options->as);
    else
      print_table(problems);
    if (problems.empty()) fmt::print(stderr, "tapconv: no problem passes these filters\n");
  });
}

}  // namespace tapconv::cli
