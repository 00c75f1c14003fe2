#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "json.hpp"

namespace tapconv::cli {

/// What the header of a suite's results says of the run besides the device.
struct SuiteHeader {
  std::string script, suite, commit;  ///< `commit` may be empty
};

/// The header with the device and versions of now, and with the fields of `asked`: what rows were measured by. Rows
/// belong together only if all of it but script and date is the same.
[[nodiscard]] Json header_of(const SuiteHeader& header, const Device& device, const Json& asked);

/// The results of a suite as one JSON object: a header and rows, in the order of `problems` whatever the order in which
/// they were measured. A row has at least name, problem, date, and report, which is null where there is none.
class SuiteResults {
 public:
  SuiteResults(Json header, const std::vector<NamedProblem>& problems);

  /// Takes over the rows of an earlier run's file that were measured, if it was measured by the same; else says on
  /// standard error why not. No file is an earlier run without rows. Throws Error{environment} for a file of something
  /// else.
  void resume(const std::filesystem::path& file);
  [[nodiscard]] bool has(const NamedProblem& problem) const;
  void add(const NamedProblem& problem, const std::string& date, const Json& row);
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
