#pragma once

#include <CLI/CLI.hpp>

namespace tapconv::cli {

/// What the process returns. Documented in docs/command-line.md.
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
};

/// Each adds one subcommand to `app`; when it is chosen it runs and sets `exit_code`.
void add_plan(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_specs(CLI::App& app, int& exit_code);

}  // namespace tapconv::cli
