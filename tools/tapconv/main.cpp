#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "json.hpp"
#include "manual.hpp"
#include "tapconv/error.hpp"

namespace {

using namespace tapconv;
using namespace tapconv::cli;

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return exit_usage;
    case ErrorCode::compile:
      return exit_compile;
    case ErrorCode::launch:
      return exit_launch;
    case ErrorCode::memory:
      return exit_memory;
    case ErrorCode::environment:
      return exit_environment;
    case ErrorCode::internal:
      return exit_internal;
  }
  return exit_internal;
}

/// Where to read on after a wrong command line.
std::string hint(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  if (commands.empty()) return "see tapconv --help";
  const bool takes_problem = commands.front()->get_option_no_throw("problem") != nullptr;
  return fmt::format("see tapconv {} --help{}", commands.front()->get_name(),
                     takes_problem ? "; put a problem in quotes" : "");
}

/// The message on standard error and, for a program that asked for JSON, an object on standard output.
int report_failure(int code, std::string_view message, bool json) {
  fmt::print(stderr, "tapconv: {}\n", message);
  if (json) print(Json{{"error", {{"exit_code", code}, {"message", message}}}});
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("", "tapconv");
  app.formatter_fn([](const CLI::App* command, const std::string&, CLI::AppFormatMode) {
    return std::string(manual_page(command->get_parent() ? command->get_name() : ""));
  });
  app.set_version_flag("--version", TAPCONV_VERSION);
  app.require_subcommand(1);
  app.fallthrough(false);
  int exit_code = exit_internal;
  add_plan(app, exit_code);
  add_explain(app, exit_code);
  add_run(app, exit_code);
  add_check(app, exit_code);
  add_bench(app, exit_code);
  add_fingerprint(app, exit_code);
  add_tune(app, exit_code);
  add_plans(app, exit_code);
  add_specs(app, exit_code);
  add_problems(app, exit_code);
  add_cache(app, exit_code);
  add_completion(app, exit_code);

  // Beyond a file size limit writing fails, with a message, instead of ending the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const bool json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
  try {
    app.parse(argc, argv);
    // A result that did not reach its reader is no success.
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      return report_failure(exit_environment, "standard output cannot be written", false);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help or version
    return report_failure(exit_usage, fmt::format("{} ({})", error.what(), hint(app)), json);
  } catch (const Error& error) {
    return report_failure(exit_code_of(error.code()), error.what(), json);
  } catch (const std::bad_alloc&) {
    return report_failure(exit_memory, "not enough memory on the host for these tensors", json);
  } catch (const std::exception& error) {
    return report_failure(exit_internal, error.what(), json);
  }
}
