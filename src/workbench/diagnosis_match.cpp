#include "workbench/diagnosis_match.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "oracle/statistics.hpp"

namespace tapconv {
namespace {

/// Samples that a suspicion is held against: most fail at the first.
constexpr std::size_t most_wrong = 200, most_right = 150;

/// A deviation is believed of so many wrong outputs at least.
constexpr std::size_t least_told = 4;

/// Its arithmetic may differ a little from that of the sum that the bound is of: scaled, rounded once more.
constexpr double room = 2;

/// What an inexact explanation may leave of every sample's error, and any explanation of the errors, as shares of the
/// median error: a few huge errors must not make others look small.
constexpr double loose_share = 0.03, explained_share = 0.1;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median distance from the median.
double spread(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return median(std::move(values));
}

class Trial {
 public:
  Trial(const Case& result, Scope scope) : result_(result) {
    std::vector<double> errors;
    for (const Sample* sample : result.some(true, most_wrong + result.samples().size())) {
      if (sample->content == Content::unwritten || samples_.size() == most_wrong) continue;
      samples_.push_back(sample);
      if (std::isfinite(sample->error())) errors.push_back(std::abs(sample->error()));
    }
    wrong_ = samples_.size();
    loose_ = loose_share * median(std::move(errors));
    if (scope == Scope::all) {
      const auto right = result.some(false, most_right);
      // Right ones early: a suspicion that is wrong everywhere may explain wrong ones by its width alone.
      samples_.insert(samples_.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(wrong_, 4)), right.begin(),
                      right.end());
    }
  }

  [[nodiscard]] std::optional<Match> test(const Suspicion& suspicion) const {
    if (wrong_ == 0) return std::nullopt;
    const Recomputation recompute(result_.problem(), suspicion.variant, result_.operands());
    RootMeanSquare distance;
    std::vector<double> left, before, predictions;
    std::size_t told = 0, told_wrong = 0, exact = 0;
    for (const Sample* sample : samples_) {
      const std::optional<OracleOutput> predicted = recompute(sample->place);
      if (!predicted) continue;
      const double error = sample->actual - predicted->value;
      const bool within = error_ratio(suspicion.variant.problem, sample->actual, *predicted) <= room;
      if (!within && !(std::abs(error) <= loose_)) return std::nullopt;
      exact += within;
      ++told;
      told_wrong += sample->wrong;
      if (!sample->wrong || !std::isfinite(error) || !std::isfinite(sample->error())) continue;
      distance.add(error);
      left.push_back(std::abs(error));
      before.push_back(std::abs(sample->error()));
      predictions.push_back(predicted->value);
    }
    if (2 * told_wrong < wrong_ || told_wrong < std::min(least_told, wrong_)) return std::nullopt;
    // What predicts next to nothing leaves next to nothing of a result that is small.
    if (median(std::move(left)) > explained_share * std::min(median(std::move(before)), spread(std::move(predictions))))
      return std::nullopt;
    return Match{.suspicion = suspicion,
                 .distance = distance.value(),
                 .coverage = static_cast<double>(told) / static_cast<double>(samples_.size()),
                 .exact = exact == told};
  }

 private:
  const Case& result_;
  std::vector<const Sample*> samples_;
  std::size_t wrong_ = 0;
  double loose_ = 0;
};

}  // namespace

std::vector<Match> explain(const Case& result, const std::vector<Suspicion>& suspicions, Scope scope) {
  const Trial trial(result, scope);
  std::vector<Match> matches;
  for (const Suspicion& suspicion : suspicions) {
    if (auto match = trial.test(suspicion)) matches.push_back(std::move(*match));
  }
  if (matches.empty()) return matches;
  // Of two sums that differ from the result by rounding errors chance prefers one.
  const auto nearest = std::ranges::min_element(matches, {}, &Match::distance)->distance;
  const double same = std::sqrt(1.5 * nearest * nearest + 0.25 * result.noise().chain * result.noise().chain);
  std::erase_if(matches, [&](const Match& match) { return match.distance > same; });
  const double widest = std::ranges::max_element(matches, {}, &Match::coverage)->coverage;
  std::erase_if(matches, [&](const Match& match) { return match.coverage < widest; });
  return matches;
}

}  // namespace tapconv
