#include "bench_compare.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "commands.hpp"
#include "json.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cli {
namespace {

std::string read_text(const std::string& file) {
  constexpr std::uintmax_t most_bytes = std::uintmax_t{64} << 20;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw Error(ErrorCode::environment, fmt::format("{} is no file that can be read", file));
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) throw Error(ErrorCode::environment, fmt::format("{} cannot be read", file));
  if (bytes > most_bytes)
    throw Error(ErrorCode::usage,
                fmt::format("{} has {} bytes; valid: results of at most {} bytes", file, bytes, most_bytes));
  return {std::istreambuf_iterator<char>(stream), {}};
}

void print_text(const BenchComparison& comparison, const std::string& a, const std::string& b) {
  fmt::print("A: {}\nB: {}\n", a, b);
  for (const std::string& difference : comparison.differences) fmt::print("  measured differently: {}\n", difference);
  fmt::print("  {:>10}{:>11}{:>9}  {:<17}{:>9}  {:<16}{}\n", "A ms", "B ms", "B / A", "95 %", "p", "", "");
  for (const ComparedRow& row : comparison.rows)
    fmt::print("  {:>10.4f}{:>11.4f}{:>9.4f}  {:<17}{:>9}  {:<16}{}{}\n", row.a_ms, row.b_ms, row.ratio,
               row.interval ? fmt::format("{:.4f} to {:.4f}", row.interval->low, row.interval->high) : "-",
               row.p_value ? fmt::format("{:.2g}", *row.p_value) : "-", name(row.change),
               row.name.empty() ? row.problem : row.name, row.note.empty() ? "" : fmt::format(" ({})", row.note));
  for (const std::string& one : comparison.only_in_a) fmt::print("  only in A: {}\n", one);
  for (const std::string& one : comparison.only_in_b) fmt::print("  only in B: {}\n", one);
  fmt::print("  {} faster, {} slower, {} unclear, {} not comparable", comparison.faster, comparison.slower,
             comparison.unclear, comparison.not_comparable);
  if (comparison.geometric_mean) fmt::print("; geometric mean of B / A: {:.4f}", *comparison.geometric_mean);
  fmt::print("\n");
}

}  // namespace

int run_comparison(const std::string& a, const std::string& b, bool force, bool json_wanted) {
  const BenchComparison comparison = compare_benches(read_text(a), a, read_text(b), b, force);
  if (json_wanted)
    print(to_json(comparison));
  else
    print_text(comparison, a, b);
  return comparison.newly_wrong > 0 ? exit_incorrect : comparison.slower > 0 ? exit_slower : exit_pass;
}

}  // namespace tapconv::cli
