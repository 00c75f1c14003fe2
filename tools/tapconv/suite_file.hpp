#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "json.hpp"

namespace tapconv::cli {

/// What was asked of a suite and what it is measured by: rows belong together only if all of this is the same.
struct SuiteHeader {
  std::string suite, commit;  ///< `commit` may be empty
  BenchRequest request;

  /// With the date, the device and the versions of now.
  [[nodiscard]] Json json() const;
};

/// The results of a suite as one JSON object (docs/schemas/suite.schema.json): its rows in the order of `problems`,
/// whatever the order in which they were measured.
class SuiteResults {
 public:
  SuiteResults(const SuiteHeader& header, const std::vector<NamedProblem>& problems);

  /// Takes over the rows of an earlier run's file that were measured, if it was measured by the same; else says on
  /// standard error why not. No file is an earlier run without rows. Throws Error{environment} for a file of something
  /// else.
  void resume(const std::filesystem::path& file);
  [[nodiscard]] bool has(const NamedProblem& problem) const;
  void add(const SuiteRow& row);
  [[nodiscard]] const Json& json() const { return document_; }

 private:
  [[nodiscard]] static std::string key(const std::string& name, const std::string& problem);
  void rebuild();

  std::vector<std::string> order_;
  std::map<std::string, Json> rows_;
  Json document_;
};

/// The document as a Markdown table, with what was not measured and why.
[[nodiscard]] std::string markdown(const Json& document);

/// Throws Error{environment} if `file` cannot be written because its folder does not exist.
void expect_folder(const std::string& file);

/// Writes `text` to a temporary beside `file`, then renames it: a reader sees the old file or the new one. Throws
/// Error{environment}.
void publish(const std::string& file, const std::string& text);

}  // namespace tapconv::cli
