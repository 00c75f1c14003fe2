#include "workbench/tuning_schedule.hpp"

#include <gtest/gtest.h>

namespace tapconv {
namespace {

/// Runs a schedule on candidates whose every call takes a given time, on a clock that only these calls move.
struct Simulation {
  std::vector<double> ms;
  double deadline_s = 1e9;
  double clock_s = 0;
  std::vector<std::size_t> order = {};

  TuningSchedule run() {
    TuningSchedule schedule(ms.size(), deadline_s, [this] { return clock_s; });
    while (const auto next = schedule.next()) {
      order.push_back(*next);
      clock_s += ms[*next] * 1e-3;
      schedule.record(*next, ms[*next]);
    }
    return schedule;
  }
};

TEST(TuningSchedule, RoundsStartEachWithAnotherCandidate) {
  Simulation simulation{.ms = {1, 1, 1}};
  (void)simulation.run();
  const std::vector<std::size_t> first(simulation.order.begin(), simulation.order.begin() + 9);
  EXPECT_EQ((std::vector<std::size_t>{0, 1, 2, 1, 2, 0, 2, 0, 1}), first);
}

TEST(TuningSchedule, SlowOnesTakePartInTheTrialAlone) {
  Simulation simulation{.ms = {10, 10.4, 20}};
  const TuningSchedule schedule = simulation.run();
  EXPECT_EQ(TuningSchedule::most_rounds, schedule.rounds(0));
  EXPECT_EQ(TuningSchedule::most_rounds, schedule.rounds(1));
  EXPECT_EQ(TuningSchedule::trial_rounds, schedule.rounds(2));
  EXPECT_EQ(0u, schedule.best());
  EXPECT_EQ(20, schedule.median_ms(2));
}

TEST(TuningSchedule, EndsAtTheDeadline) {
  Simulation simulation{.ms = {10, 10}, .deadline_s = 0.055};
  const TuningSchedule schedule = simulation.run();
  EXPECT_EQ(6u, simulation.order.size());
  EXPECT_EQ(1, schedule.progress());
}

TEST(TuningSchedule, MeasuresTheFirstCandidateEvenWithoutTime) {
  Simulation simulation{.ms = {10, 5}, .deadline_s = -1};
  const TuningSchedule schedule = simulation.run();
  EXPECT_EQ((std::vector<std::size_t>{0}), simulation.order);
  EXPECT_EQ(0u, schedule.best());
}

TEST(TuningSchedule, TheBestIsOfTheLeastMedianNotOfTheLeastTime) {
  TuningSchedule schedule(2, 1e9, [] { return 0.0; });
  for (const double ms : {5.0, 5.0, 5.0}) schedule.record(0, ms);
  for (const double ms : {1.0, 6.0, 7.0}) schedule.record(1, ms);
  EXPECT_EQ(0u, schedule.best());
  schedule.refuse(0);
  EXPECT_EQ(1u, schedule.best());
  schedule.refuse(1);
  EXPECT_FALSE(schedule.best().has_value());
  EXPECT_FALSE(schedule.next().has_value());
}

TEST(TuningSchedule, OfEqualOnesTheFirstIsBest) {
  TuningSchedule schedule(3, 1e9, [] { return 0.0; });
  for (const std::size_t candidate : {2, 1, 0}) schedule.record(candidate, 4);
  EXPECT_EQ(0u, schedule.best());
}

TEST(TuningSchedule, ARefusedCandidateIsNotMeasuredAgain) {
  TuningSchedule schedule(2, 1e9, [] { return 0.0; });
  std::vector<int> calls(2);
  while (const auto next = schedule.next()) {
    if (++calls[*next] == 1 && *next == 1)
      schedule.refuse(1);
    else
      schedule.record(*next, 1);
  }
  EXPECT_EQ(1, calls[1]);
  EXPECT_EQ(TuningSchedule::most_rounds, calls[0]);
}

TEST(TuningSchedule, OneCandidateIsMeasuredAFewTimes) {
  Simulation simulation{.ms = {1}};
  EXPECT_EQ(TuningSchedule::trial_rounds, simulation.run().rounds(0));
}

}  // namespace
}  // namespace tapconv
