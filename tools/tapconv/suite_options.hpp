#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "suite_file.hpp"

namespace tapconv::cli {

/// What a command was asked of a suite, as given; empty: not given.
struct SuiteOptions {
  std::string suite, math, shard, batch, out, commit;
  bool resume = false, json = false;

  void add(CLI::App& command);
  /// Throws Error{usage} for an option that needs --suite, if that is not given.
  void expect_suite() const;
};

/// A suite that is being worked through: which problems are missing, and the file that grows with every row.
class SuiteRun {
 public:
  /// `asked` is what the command adds to header_of(). Throws Error{usage} for options that make no sense,
  /// Error{environment} if the file cannot be written.
  SuiteRun(const SuiteOptions& options, const std::string& script, const Device& device, const Json& asked);

  [[nodiscard]] const std::vector<NamedProblem>& missing() const { return missing_; }
  [[nodiscard]] const Json& json() const { return results_.json(); }
  /// Adds the row of a problem and writes the file.
  void add(const NamedProblem& problem, const std::string& date, const Json& row);
  /// Writes the file, and prints it if JSON is wanted.
  void finish() const;

 private:
  void write() const;

  SuiteOptions options_;
  std::vector<NamedProblem> problems_;
  SuiteResults results_;
  std::vector<NamedProblem> missing_;
};

}  // namespace tapconv::cli
