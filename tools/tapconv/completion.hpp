#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tapconv::cli {

/// What can stand where a value is asked for.
struct Completion {
  bool files = false;
  bool problems = false;           ///< names of problems and lists
  std::vector<std::string> words;  ///< one of these, beside files if those can stand there too
};

struct CompletedOption {
  std::string name;  ///< "--batch"
  std::string summary;
  bool has_value = false;
  Completion value;
};

struct CompletedCommand {
  std::string name;  ///< "" for tapconv itself
  std::string summary;
  std::vector<CompletedOption> options;
  Completion operand;
};

/// The commands and options that `app` has, with the texts of the manual; tapconv itself first. Throws Error{internal}
/// for an option that the manual leaves out or describes as something else.
[[nodiscard]] std::vector<CompletedCommand> completed_commands(const CLI::App& app);

/// The script for one shell.
[[nodiscard]] std::string bash_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CompletedCommand>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace tapconv::cli
