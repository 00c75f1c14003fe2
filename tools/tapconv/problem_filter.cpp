#include "problem_filter.hpp"

#include <algorithm>

#include "options.hpp"

namespace tapconv::cli {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return lower(text).find(lower(part)) != std::string::npos;
}

/// "dense", "grouped" or "depthwise".
std::string structure(const Problem& problem) {
  if (problem.kind == Kind::depthwise_separable) return "depthwise";
  if (problem.groups == 1) return "dense";
  return problem.groups == problem.in_channels ? "depthwise" : "grouped";
}

/// Refuses what is no number of GFLOP; NaN would be neither more nor less than any.
std::string expect_gflop(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) && value >= 0 ? "" : "a number from 0 on is needed, not '" + text + "'";
}

}  // namespace

void ProblemFilter::add(CLI::App& command) {
  command.add_option("--filter", text)->check(expect_value);
  command.add_option("--rank", rank)->check(CLI::IsMember({1, 2, 3}));
  command.add_option("--kind", kind)->check(CLI::IsMember({"conv", "transposed", "depthwise_separable"}));
  command.add_option("--groups", groups)->check(CLI::IsMember({"dense", "grouped", "depthwise"}));
  command.add_option("--dtype", dtype)->check(CLI::IsMember({"float32", "float16", "bfloat16", "float64"}));
  command.add_option("--min-gflop", min_gflop)->check(expect_gflop);
  command.add_option("--max-gflop", max_gflop)->check(expect_gflop);
}

bool ProblemFilter::keeps(const NamedProblem& named) const {
  const Problem& problem = named.problem;
  const double gflop = work(problem).flop * 1e-9;
  return (text.empty() || contains(named.name, text) || contains(spell(problem), text)) &&
         (rank == 0 || rank == problem.rank) && (kind.empty() || kind == kind_name(problem.kind)) &&
         (groups.empty() || groups == structure(problem)) && (dtype.empty() || dtype == name(problem.dtype)) &&
         gflop >= min_gflop && gflop <= max_gflop;
}

std::string kind_name(Kind kind) {
  switch (kind) {
    case Kind::convolution:
      return "conv";
    case Kind::transposed:
      return "transposed";
    case Kind::depthwise_separable:
      return "depthwise_separable";
  }
  return "";
}

}  // namespace tapconv::cli
