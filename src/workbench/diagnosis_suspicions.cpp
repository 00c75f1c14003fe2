#include "workbench/diagnosis_suspicions.hpp"

#include <iterator>

#include "problem/text.hpp"

namespace tapconv {

Variant faithful(const Problem& problem) {
  return {.problem = problem, .rounding = operand_rounding(problem.contract, problem.tie_rule)};
}

std::string_view axis_noun(const Problem& problem, std::size_t axis) {
  constexpr std::string_view nouns[] = {"image", "channel", "slice", "row", "column"};
  return problem.rank == 1 && axis == 4 ? "position" : nouns[axis];
}

std::string_view axis_letter(const Problem& problem, int axis) {
  constexpr std::string_view letters[] = {"D", "H", "W"};
  return letters[max_rank - problem.rank + axis];
}

std::vector<AxisChoice> axis_choices(const Problem& problem, const std::function<bool(int)>& applies) {
  std::vector<AxisChoice> choices;
  AxisChoice all{.axes = {}, .said = "along every axis"};
  for (int axis = 0; axis < problem.rank; ++axis) {
    if (!applies(axis)) continue;
    all.axes.push_back(axis);
    choices.push_back({.axes = {axis}, .said = fmt::format("along {}", axis_letter(problem, axis))});
  }
  if (all.axes.size() > 1) choices.insert(choices.begin(), all);
  return choices;
}

std::vector<Suspicion> all_suspicions(const Problem& problem) {
  std::vector<Suspicion> all;
  for (const auto part : {rounding_suspicions, filter_suspicions, parameter_suspicions, group_suspicions,
                          epilogue_suspicions, place_suspicions}) {
    std::vector<Suspicion> some = part(problem);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace tapconv
