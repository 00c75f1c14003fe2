#include "workbench/tuning_schedule.hpp"

#include <algorithm>
#include <utility>

#include "workbench/median.hpp"

namespace tapconv {

TuningSchedule::TuningSchedule(std::size_t candidates, double deadline_s, std::function<double()> now_s)
    : times_(candidates),
      refused_(candidates, false),
      start_s_(now_s()),
      deadline_s_(deadline_s),
      now_s_(std::move(now_s)) {}

double TuningSchedule::median_ms(std::size_t candidate) const { return median(times_[candidate]); }

std::optional<std::size_t> TuningSchedule::best() const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (refused_[i] || times_[i].empty()) continue;
    if (!best || median_ms(i) < median_ms(*best)) best = i;
  }
  return best;
}

bool TuningSchedule::takes_part(std::size_t candidate) const {
  if (refused_[candidate]) return false;
  if (round_ < trial_rounds || times_[candidate].empty()) return true;
  return *std::ranges::min_element(times_[candidate]) <= clearly_slower * median_ms(*best());
}

void TuningSchedule::start_round() {
  const std::size_t count = times_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t candidate = (static_cast<std::size_t>(round_) + count - 1 - i) % count;
    if (takes_part(candidate)) queue_.push_back(candidate);
  }
  ++round_;
}

std::optional<std::size_t> TuningSchedule::next() {
  if (any_ && now_s_() >= deadline_s_) return std::nullopt;
  std::erase_if(queue_, [&](std::size_t candidate) { return refused_[candidate]; });
  if (queue_.empty()) {
    // One candidate has nothing to be compared with.
    if (round_ >= (times_.size() == 1 ? trial_rounds : most_rounds)) return std::nullopt;
    start_round();
    if (queue_.empty()) return std::nullopt;
  }
  const std::size_t candidate = queue_.back();
  queue_.pop_back();
  return candidate;
}

void TuningSchedule::record(std::size_t candidate, double ms) {
  times_[candidate].push_back(ms);
  any_ = true;
}

void TuningSchedule::refuse(std::size_t candidate) { refused_[candidate] = true; }

double TuningSchedule::progress() const {
  const double by_time = (now_s_() - start_s_) / std::max(1e-9, deadline_s_ - start_s_);
  const double by_rounds = std::max(0, round_ - 1) / static_cast<double>(most_rounds);
  return std::clamp(std::max(by_time, by_rounds), 0.0, 1.0);
}

}  // namespace tapconv
