#include "workbench/diagnosis_match.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "oracle/statistics.hpp"

namespace tapconv {
namespace {

/// Samples that a suspicion is held against: most fail at the first.
constexpr std::size_t most_wrong = 200, most_right = 150;

/// After so many wrong ones bounds are left aside: those of long sums are wide enough for anything.
constexpr std::size_t first_look = 16;

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

/// How much of the wrong outputs' errors a suspicion explains.
class Fit {
 public:
  void add(double actual, double expected, double predicted) {
    if (!std::isfinite(actual - expected) || !std::isfinite(actual - predicted)) return;
    distance_.add(actual - predicted);
    left_.push_back(std::abs(actual - predicted));
    before_.push_back(std::abs(actual - expected));
    predicted_.push_back(std::abs(predicted));
  }

  /// What predicts next to nothing leaves next to nothing of a small result, so the predictions count too. What is left
  /// of an honest sum is `noise`.
  [[nodiscard]] bool convinces(double noise) const {
    return median(left_) <= std::max(noise, explained_share * std::min(median(before_), median(predicted_)));
  }

  [[nodiscard]] std::size_t count() const { return left_.size(); }
  [[nodiscard]] double distance() const { return distance_.value(); }

 private:
  RootMeanSquare distance_;
  std::vector<double> left_, before_, predicted_;
};

class Trial {
 public:
  Trial(const Case& result, Scope scope) : result_(result) {
    std::vector<double> errors;
    RootMeanSquare chain;
    for (const Sample* sample : result.some(true, most_wrong + result.samples().size())) {
      if (sample->content == Content::unwritten || samples_.size() == most_wrong) continue;
      samples_.push_back(sample);
      if (!std::isfinite(sample->error())) continue;
      errors.push_back(std::abs(sample->error()));
      if (std::isfinite(sample->expected.sequential)) chain.add(sample->expected.sequential - sample->expected.value);
    }
    wrong_ = samples_.size();
    noise_ = chain.value();
    loose_ = loose_share * median(std::move(errors));
    if (scope == Scope::all) {
      const auto right = result.some(false, most_right);
      samples_.insert(samples_.begin() + static_cast<std::ptrdiff_t>(std::min(wrong_, first_look)), right.begin(),
                      right.end());
    }
  }

  [[nodiscard]] std::optional<Match> test(const Suspicion& suspicion) const {
    if (wrong_ == 0) return std::nullopt;
    const Recomputation recompute(result_.problem(), suspicion.variant, result_.operands());
    Fit fit;
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
      if (!sample->wrong) continue;
      fit.add(sample->actual, sample->expected.value, predicted->value);
      if (fit.count() == first_look && !fit.convinces(noise_)) return std::nullopt;
    }
    if (2 * told_wrong < wrong_ || told_wrong < std::min(least_told, wrong_) || !fit.convinces(noise_))
      return std::nullopt;
    return Match{.suspicion = suspicion,
                 .distance = fit.distance(),
                 .coverage = static_cast<double>(told) / static_cast<double>(samples_.size()),
                 .exact = exact == told};
  }

  /// Root mean square error of honest sums where the result is wrong.
  [[nodiscard]] double noise() const { return noise_; }

 private:
  const Case& result_;
  std::vector<const Sample*> samples_;
  std::size_t wrong_ = 0;
  double loose_ = 0, noise_ = 0;
};

}  // namespace

std::vector<Match> explain(const Case& result, const std::vector<Suspicion>& suspicions, Scope scope) {
  const Trial trial(result, scope);
  std::vector<Match> matches;
  for (const Suspicion& suspicion : suspicions) {
    if (auto match = trial.test(suspicion)) matches.push_back(std::move(*match));
  }
  if (matches.empty()) return matches;
  // Of two that are about as near as an honest sum chance prefers one.
  const double nearest = std::ranges::min_element(matches, {}, &Match::distance)->distance;
  const double same = std::max(1.25 * nearest, 2 * trial.noise());
  std::erase_if(matches, [&](const Match& match) { return match.distance > same; });
  const double widest = std::ranges::max_element(matches, {}, &Match::coverage)->coverage;
  std::erase_if(matches, [&](const Match& match) { return match.coverage < widest; });
  return matches;
}

}  // namespace tapconv
