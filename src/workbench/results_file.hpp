#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapconv {

/// The engine's times of one problem, as a results file has them.
struct TimedRow {
  std::string name;     ///< empty in a file of one problem
  std::string problem;  ///< canonical spelling
  double spaced_ms = 0;
  std::vector<double> rounds_ms;  ///< empty in files from before there were any
  bool wrong = false;             ///< outputs beyond their bound, or not the declared arithmetic
  bool implausible = false;
};

/// What `tapconv bench --json` wrote, of one problem or of a suite.
struct ResultsFile {
  /// What times can only be compared under: "device_name", "threads", "idle_ms" and so on, each as text; "unknown"
  /// where the file does not say.
  std::map<std::string, std::string> conditions;
  std::vector<TimedRow> rows;       ///< those that have a time
  std::vector<std::string> failed;  ///< names of those that could not be measured
};

/// Reads the JSON text of a results file. Throws Error{usage}, naming `name`, for what is none.
[[nodiscard]] ResultsFile read_results(std::string_view text, std::string_view name);

}  // namespace tapconv
