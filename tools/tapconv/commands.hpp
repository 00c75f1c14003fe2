#pragma once

#include <CLI/CLI.hpp>

namespace tapconv::cli {

/// What the process returns. Documented in docs/man/tapconv.md.
enum ExitCode {
  exit_pass = 0,
  exit_internal = 1,
  exit_usage = 2,
  exit_compile = 3,
  exit_launch = 4,
  exit_incorrect = 5,
  exit_memory = 6,
  exit_unconverged = 9,
  exit_environment = 10,
  exit_slower = 11,
};

/// Each adds one subcommand to `app`; when it is chosen it runs and sets `exit_code`. Their texts are in docs/man.
void add_plan(CLI::App& app, int& exit_code);
void add_explain(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_fingerprint(CLI::App& app, int& exit_code);
void add_tune(CLI::App& app, int& exit_code);
void add_plans(CLI::App& app, int& exit_code);
void add_specs(CLI::App& app, int& exit_code);
void add_problems(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
/// Prints scripts for all subcommands of `app`, which outlives it.
void add_completion(CLI::App& app, int& exit_code);

}  // namespace tapconv::cli
