#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapconv {

/// What two measurements of the engine on one problem say.
enum class Change {
  faster,          ///< B takes less time, beyond chance
  slower,          ///< B takes more
  unclear,         ///< chance explains the difference, or there are too few times to tell
  not_comparable,  ///< a time of either is no result: wrong outputs, or implausible
};

/// "faster", "slower", "unclear", "not comparable".
[[nodiscard]] std::string_view name(Change change) noexcept;

/// The engine's times of one problem in both files.
struct ComparedRow {
  std::string name;           ///< empty where neither file has one
  std::string problem;        ///< canonical spelling
  double a_ms = 0, b_ms = 0;  ///< spaced medians
  double ratio = 1;  ///< B / A: the median of all quotients of a time of B and one of A; without times the medians'
  /// Its 95 % interval; absent without the times of the rounds, or if they are too few.
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;
  std::optional<double> p_value;  ///< that chance alone makes such a difference, corrected for the number of rows
  Change change = Change::unclear;
  std::string note;  ///< why there is no interval, or why it is not comparable; empty otherwise
};

/// Two files of results, compared.
struct BenchComparison {
  std::vector<ComparedRow> rows;                  ///< slowest change first
  std::vector<std::string> only_in_a, only_in_b;  ///< names or problems with a time in one file alone
  std::vector<std::string> differences;           ///< of device or protocol: "device_name: NVIDIA H200, NVIDIA A100"
  std::int64_t faster = 0, slower = 0, unclear = 0, not_comparable = 0;
  std::optional<double> geometric_mean;  ///< of the ratios of comparable rows; absent without any
  /// Rows whose outputs are wrong in B and were right in A, or that had a time in A and could not be measured in B.
  std::int64_t newly_wrong = 0;
};

/// The probability with which `faster` or `slower` is said of any row, if nothing has changed in any.
inline constexpr double comparison_level = 0.05;

/// Compares the engine's times in two results of `tapconv bench --json`, of one problem or of a suite, given as their
/// JSON texts; `a_name` and `b_name` are for messages. Rows belong together by problem and name, then by problem alone.
/// docs/measuring.md has the statistics. Throws Error{usage} for a text that is no such result, one with a number that
/// no time can be, and, unless `force`d, for files of different devices or protocols.
[[nodiscard]] BenchComparison compare_benches(std::string_view a, std::string_view a_name, std::string_view b,
                                              std::string_view b_name, bool force);

}  // namespace tapconv
