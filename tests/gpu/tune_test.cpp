#include "workbench/tune.hpp"

#include <gtest/gtest.h>

#include "../unit/temporary_folder.hpp"
#include "cuda/driver.hpp"
#include "plan/planner.hpp"

namespace tapconv {
namespace {

class TuneTest : public testing::TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    if (cuda::device_count() == 0) GTEST_SKIP() << cuda::missing_reason();
  }
};

TEST_F(TuneTest, StoresTheFastestAndPlansByIt) {
  const Device device{.kind = Device::Kind::cuda, .index = 0};
  const DeviceModel model = device_model(cuda::Context::get(0).facts());
  PlanDatabase database({path("plans.json")});
  for (const char* spelling :
       {"Conv2d(16, 32, 3, padding=1) @ 4x16x64x64", "DepthwiseSeparable2d(16, 32, 3) @ 2x16x40x40"}) {
    SCOPED_TRACE(spelling);
    const Problem problem = parse_problem(spelling);
    const TuneReport report = tune({.problem = problem, .device = device, .seconds = 30, .top = 4}, database);
    EXPECT_TRUE(report.correct);
    EXPECT_EQ(path("plans.json"), report.file);
    const std::vector<Task> tasks = tasks_of(problem);
    ASSERT_EQ(report.stages.size(), tasks.size());
    for (std::size_t i = 0; i < report.stages.size(); ++i) {
      const TunedStage& stage = report.stages[i];
      ASSERT_GT(stage.candidates.size(), 1u);
      EXPECT_EQ(stage.best.configuration, stage.candidates.front().configuration);
      for (const TunedCandidate& candidate : stage.candidates) {
        EXPECT_EQ(stage.candidates.front().k_order, candidate.k_order);
        EXPECT_EQ("", candidate.problem);
        EXPECT_TRUE(candidate.rounds == 0 || stage.candidates.front().measured_ms <= candidate.measured_ms);
      }
      const Choice choice = choose(tasks[i], model, database);
      EXPECT_TRUE(choice.tuned);
      EXPECT_EQ(stage.best.configuration, choice.candidate.configuration);
    }
  }
}

TEST_F(TuneTest, EndsInTimeWithTheDefaultAtLeast) {
  PlanDatabase database({path("plans.json")});
  const TuneReport report = tune({.problem = parse_problem("Conv2d(16, 32, 3, padding=1) @ 4x16x64x64"),
                                  .device = {.kind = Device::Kind::cuda, .index = 0},
                                  .seconds = 0.1},
                                 database);
  EXPECT_TRUE(report.stages.front().candidates.front().rounds > 0);
  EXPECT_GT(report.stages.front().best.measured_ms, 0);
}

}  // namespace
}  // namespace tapconv
