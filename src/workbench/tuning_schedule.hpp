#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace tapconv {

/// Decides which of several candidates is measured next and when measuring ends; measures nothing itself. Rounds visit
/// every candidate, each round starting one further, so that none profits from its place; from the fourth round on,
/// those whose fastest time is clearly slower than the best median are left out.
class TuningSchedule {
 public:
  static constexpr int most_rounds = 15;
  static constexpr int trial_rounds = 3;          ///< that every candidate takes part in
  static constexpr double clearly_slower = 1.05;  ///< than the best median

  /// `now_s` tells the time in seconds; measuring ends at `deadline_s` of it, but not before the first measurement.
  TuningSchedule(std::size_t candidates, double deadline_s, std::function<double()> now_s);

  /// The candidate to measure now; nothing: measuring is over.
  [[nodiscard]] std::optional<std::size_t> next();

  /// What was measured of the candidate that next() named.
  void record(std::size_t candidate, double ms);
  /// Leaves a candidate out from now on: it cannot be chosen.
  void refuse(std::size_t candidate);

  [[nodiscard]] int rounds(std::size_t candidate) const { return static_cast<int>(times_[candidate].size()); }
  /// Milliseconds; 0 of what was not measured.
  [[nodiscard]] double median_ms(std::size_t candidate) const;
  /// Of the candidates that were measured and not refused, the one of the least median; of equal ones the first.
  [[nodiscard]] std::optional<std::size_t> best() const;
  /// How far measuring is, 0 to 1.
  [[nodiscard]] double progress() const;

 private:
  [[nodiscard]] bool takes_part(std::size_t candidate) const;
  void start_round();

  std::vector<std::vector<double>> times_;
  std::vector<bool> refused_;
  double start_s_, deadline_s_;
  std::function<double()> now_s_;
  int round_ = 0;                   ///< rounds started
  std::vector<std::size_t> queue_;  ///< of this round, the next one last
  bool any_ = false;
};

}  // namespace tapconv
