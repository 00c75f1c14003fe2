#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

std::vector<Suspicion> separable_suspicions(const Problem& problem) {
  if (problem.depth_multiplier == 1) return {};
  Variant variant = faithful(problem);
  variant.alter = [inputs = problem.in_channels, multiplier = problem.depth_multiplier](Term& term) {
    std::int64_t& c = term.filter[1];
    if (!term.depthwise) c = c % multiplier * inputs + c / multiplier;
    return true;
  };
  return {
      {"depthwise-channels-interleaved",
       "the pointwise half takes depthwise channel c * depth_multiplier + m for m * in_channels + c; the multiplier "
       "is the fast index",
       std::move(variant)}};
}

}  // namespace

std::vector<Suspicion> group_suspicions(const Problem& problem) {
  if (problem.kind == Kind::depthwise_separable) return separable_suspicions(problem);
  if (problem.groups == 1) return {};
  std::vector<Suspicion> found;
  const std::int64_t groups = problem.groups, in = problem.in_channels / groups, out = problem.out_channels / groups;
  const auto alter = [&](const char* cause, std::string said, std::function<bool(Term&)> change) {
    Variant variant = faithful(problem);
    variant.alter = std::move(change);
    found.push_back({cause, std::move(said), std::move(variant)});
  };
  if (in > 1)
    alter(
        "groups-interleaved-input",
        fmt::format("the input channels of the groups are interleaved: channel c of group g is read at c * {} + g; it "
                    "is at g * {} + c",
                    groups, in),
        [=](Term& term) {
          term.input[1] = term.input[1] % in * groups + term.input[1] / in;
          return true;
        });
  alter("groups-ignored",
        "every group reads the input channels of the first; add group * in_channels / groups to the input channel",
        [=](Term& term) {
          term.input[1] %= in;
          return true;
        });
  alter("group-filters-ignored", "every group is computed with the filters of the first; add the group to the filter",
        [=](Term& term) {
          term.filter[0] %= out;
          return true;
        });
  if (out > 1) {
    alter("groups-taken-modulo",
          fmt::format("output channel k reads the input channels of group k mod {}; its group is k / {}", groups, out),
          [=](Term& term) {
            term.input[1] = term.filter[0] % groups * in + term.input[1] % in;
            return true;
          });
    Variant variant = faithful(problem);
    variant.source = [=](Place place) {
      place[1] = place[1] % groups * out + place[1] / groups;
      return std::optional(place);
    };
    found.push_back(
        {"groups-interleaved-output",
         fmt::format(
             "the output channels of the groups are interleaved: channel j of group g is written at j * {} + g; "
             "it belongs at g * {} + j",
             groups, out),
         std::move(variant)});
  }
  return found;
}

}  // namespace tapconv
