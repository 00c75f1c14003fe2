#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "plan/planner.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

constexpr unsigned problem_count = 2000;

/// What holds of every solver's candidates for a task, whatever its cost model.
void expect_sound(const Task& task, const DeviceModel& device, bool plan_each) {
  const double limit_ms = floor_time(task.problem, device.ceilings).limit_ms;
  for (const Solver* solver : solvers()) {
    if (!solver->supports(task, device).ok) continue;
    const std::vector<Candidate> candidates = solver->candidates(task, device);
    ASSERT_FALSE(candidates.empty());
    std::set<std::string> seen;
    double before_ms = 0;
    for (const Candidate& candidate : candidates) {
      SCOPED_TRACE(candidate.configuration);
      EXPECT_TRUE(seen.insert(candidate.configuration).second) << "twice";
      ASSERT_TRUE(std::isfinite(candidate.predicted_ms));
      EXPECT_GT(candidate.predicted_ms, 0);
      EXPECT_GE(candidate.predicted_ms, limit_ms * (1 - 1e-9)) << "faster than the device can be";
      EXPECT_GE(candidate.predicted_ms, before_ms) << "not sorted";
      before_ms = candidate.predicted_ms;
      EXPECT_TRUE(candidate.waves > 0 && std::isfinite(candidate.waves)) << candidate.waves;
      // 1 where no tap reaches any output.
      EXPECT_TRUE(candidate.edge_waste >= 0 && candidate.edge_waste <= 1) << candidate.edge_waste;
      if (!plan_each) continue;
      const KernelPlan plan = solver->plan(task, candidate.configuration, device);
      const cuda::KernelFacts kernel{.registers = 0,
                                     .local_bytes = 0,
                                     .static_shared_bytes = 0,
                                     .max_threads_per_block = device.facts.max_threads_per_block};
      EXPECT_EQ("", cuda::launch_problem(plan.launch(sizes_of(task.problem, task.strided)), kernel, device.facts));
      EXPECT_FALSE(plan.k_order.empty());
    }
  }
}

TEST(CostModel, IsSoundForRandomProblemsOnEveryDevice) {
  for (unsigned seed = 0; seed < problem_count; ++seed) {
    const Problem problem = testing::any_random_problem(seed);
    SCOPED_TRACE(spell(problem));
    const std::vector<Task> tasks = tasks_of(problem);
    for (std::size_t i = 0; i < known_devices().size(); ++i) {
      const DeviceModel& device = known_devices()[i];
      SCOPED_TRACE(device.facts.name);
      for (const Task& task : tasks) expect_sound(task, device, seed % known_devices().size() == i);
    }
    if (::testing::Test::HasFailure()) break;
  }
}

TEST(CostModel, IsSoundForPublishedProblemsOnEveryDevice) {
  for (const PublishedProblem& published : published_problems()) {
    for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32}) {
      Problem problem = published.problem;
      problem.contract = contract;
      SCOPED_TRACE(spell(problem));
      for (const DeviceModel& device : known_devices()) {
        SCOPED_TRACE(device.facts.name);
        for (const Task& task : tasks_of(problem)) expect_sound(task, device, false);
      }
    }
  }
}

TEST(CostModel, MoreWorkOfTheSameKindIsNotFaster) {
  for (const DeviceModel& device : known_devices()) {
    SCOPED_TRACE(device.facts.name);
    double before_ms = 0;
    for (int batch = 1; batch <= 64; batch *= 4) {
      Problem problem = parse_problem("kb56");
      problem.batch = batch;
      const double ms = choose(tasks_of(problem).front(), device).candidate.predicted_ms;
      EXPECT_GT(ms, before_ms);
      before_ms = ms;
    }
  }
}

TEST(CostModel, ADeviceWithTwiceOfEverythingIsNotSlower) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem = testing::random_problem(seed);
    const DeviceModel& device = known_device("h200");
    DeviceModel larger = device;
    larger.facts.multiprocessors *= 2;
    larger.ceilings.limit_byte_per_s *= 2;
    larger.ceilings.reach_byte_per_s *= 2;
    const Task task = tasks_of(problem).front();
    EXPECT_LE(choose(task, larger).candidate.predicted_ms, choose(task, device).candidate.predicted_ms * (1 + 1e-9))
        << spell(problem);
  }
}

}  // namespace
}  // namespace tapconv
