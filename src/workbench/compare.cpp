#include "tapconv/compare.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "problem/text.hpp"
#include "workbench/rank_test.hpp"
#include "workbench/results_file.hpp"

namespace tapconv {
namespace {

std::vector<std::string> differences_of(const ResultsFile& a, const ResultsFile& b) {
  std::vector<std::string> differences;
  for (const auto& [condition, value] : a.conditions) {
    if (const std::string& other = b.conditions.at(condition); other != value)
      differences.push_back(fmt::format("{}: {}, {}", condition, value, other));
  }
  return differences;
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

std::string note_of(const TimedRow& a, const TimedRow& b) {
  if (a.wrong || b.wrong)
    return fmt::format("outputs are wrong in {}", a.wrong && b.wrong ? "both" : a.wrong ? "A" : "B");
  if (a.implausible || b.implausible)
    return fmt::format("the time is implausible in {}", a.implausible && b.implausible ? "both"
                                                        : a.implausible                ? "A"
                                                                                       : "B");
  if (a.rounds_ms.empty() || b.rounds_ms.empty())
    return fmt::format("no interval: no times of rounds in {}", a.rounds_ms.empty() && b.rounds_ms.empty() ? "both"
                                                                : a.rounds_ms.empty()                      ? "A"
                                                                                                           : "B");
  return {};
}

/// Times are compared by their logarithms, whose differences are ratios. The p-value is not corrected yet.
ComparedRow compare(const TimedRow& a, const TimedRow& b) {
  ComparedRow row{.name = a.name.empty() ? b.name : a.name,
                  .problem = a.problem,
                  .a_ms = a.spaced_ms,
                  .b_ms = b.spaced_ms,
                  .ratio = b.spaced_ms / a.spaced_ms,
                  .interval = {},
                  .p_value = {},
                  .change = Change::unclear,
                  .note = note_of(a, b)};
  if (a.wrong || b.wrong || a.implausible || b.implausible) row.change = Change::not_comparable;
  if (!row.note.empty()) return row;
  const RankComparison ranks = compare_ranks(logarithms(a.rounds_ms), logarithms(b.rounds_ms));
  row.ratio = std::exp(ranks.difference);
  row.p_value = ranks.p_value;
  if (ranks.interval)
    row.interval = {.low = std::exp(ranks.interval->low), .high = std::exp(ranks.interval->high)};
  else
    row.note = "no interval: too few rounds";
  return row;
}

void judge(std::vector<ComparedRow>& rows) {
  std::vector<double> p_values;
  for (const ComparedRow& row : rows) {
    if (row.p_value) p_values.push_back(*row.p_value);
  }
  const std::vector<double> corrected = holm(p_values);
  auto next = corrected.begin();
  for (ComparedRow& row : rows) {
    if (!row.p_value) continue;
    row.p_value = *next++;
    if (*row.p_value > comparison_level || row.ratio == 1) continue;
    row.change = row.ratio < 1 ? Change::faster : Change::slower;
  }
}

void summarise(BenchComparison& comparison) {
  double logarithm = 0;
  std::int64_t count = 0;
  for (const ComparedRow& row : comparison.rows) {
    comparison.faster += row.change == Change::faster;
    comparison.slower += row.change == Change::slower;
    comparison.unclear += row.change == Change::unclear;
    comparison.not_comparable += row.change == Change::not_comparable;
    if (row.change == Change::not_comparable) continue;
    logarithm += std::log(row.ratio);
    ++count;
  }
  if (count > 0) comparison.geometric_mean = std::exp(logarithm / static_cast<double>(count));
}

std::string title(const TimedRow& row) { return row.name.empty() ? row.problem : row.name; }

}  // namespace

std::string_view name(Change change) noexcept {
  switch (change) {
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::unclear:
      return "unclear";
    case Change::not_comparable:
      return "not comparable";
  }
  return "?";
}

BenchComparison compare_benches(std::string_view a, std::string_view a_name, std::string_view b,
                                std::string_view b_name, bool force) {
  const ResultsFile first = read_results(a, a_name), second = read_results(b, b_name);
  BenchComparison comparison;
  comparison.differences = differences_of(first, second);
  if (!comparison.differences.empty() && !force)
    fail(ErrorCode::usage, "{} and {} were measured differently ({}); --force compares them all the same", a_name,
         b_name, fmt::join(comparison.differences, "; "));
  std::vector<bool> taken(second.rows.size(), false);
  // With the same name, then without: lists give one problem several names, and a file of one problem gives none.
  const auto partner = [&](const TimedRow& row, bool by_name) {
    for (std::size_t i = 0; i < second.rows.size(); ++i) {
      const TimedRow& other = second.rows[i];
      if (!taken[i] && other.problem == row.problem && (!by_name || other.name == row.name)) return i;
    }
    return second.rows.size();
  };
  std::vector<bool> matched(first.rows.size(), false);
  for (const bool by_name : {true, false}) {
    for (std::size_t i = 0; i < first.rows.size(); ++i) {
      const std::size_t other = matched[i] ? second.rows.size() : partner(first.rows[i], by_name);
      if (other == second.rows.size()) continue;
      matched[i] = taken[other] = true;
      comparison.rows.push_back(compare(first.rows[i], second.rows[other]));
      comparison.newly_wrong += second.rows[other].wrong && !first.rows[i].wrong;
    }
  }
  for (std::size_t i = 0; i < first.rows.size(); ++i) {
    if (matched[i]) continue;
    comparison.only_in_a.push_back(title(first.rows[i]));
    comparison.newly_wrong += std::ranges::find(second.failed, first.rows[i].name) != second.failed.end();
  }
  for (std::size_t i = 0; i < second.rows.size(); ++i) {
    if (!taken[i]) comparison.only_in_b.push_back(title(second.rows[i]));
  }
  judge(comparison.rows);
  summarise(comparison);
  std::ranges::stable_sort(comparison.rows, std::ranges::greater{}, &ComparedRow::ratio);
  return comparison;
}

}  // namespace tapconv
