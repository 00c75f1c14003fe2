// Every configuration of every solver, not only the ones that its model likes best.
#include <set>

#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

class Configurations : public testing::SlicedGpuTest {};

TEST_P(Configurations, AreAllExact) {
  constexpr const char* texts[] = {
      "Conv2d(5, 19, 3, stride=2, padding=1, math=fp32) @ 3x5x21x23",
      "Conv2d(8, 24, 3, padding=1, math=tf32, layout=channels_last) @ 2x8x12x13",
      "Conv1d(6, 18, 5, groups=2, padding_mode=reflect, padding=2, residual=True) @ 3x6x150",
      "Conv3d(4, 20, 2, dilation=2, dtype=float16) @ 2x4x7x8x9",
      "ConvTranspose2d(7, 18, 4, stride=3, padding=1, math=ieee) @ 2x7x9x11",
      "ConvTranspose1d(8, 20, 2, stride=3, dtype=bfloat16, out_dtype=float32, layout=channels_last) @ 3x8x60",
      "DepthwiseSeparable2d(12, 20, 3, padding=1, math=tf32) @ 2x12x9x11",
      "Conv2d(16, 17, 3, padding=1, dtype=float64) @ 1x16x9x10",
      "Conv2d(21, 70, (3,5), dilation=2, padding=3, math=tf32) @ 2x21x19x45",
      "Conv1d(19, 150, 3, stride=3, dilation=4) @ 2x19x700",
      "Conv3d(16, 40, (2,3,1), padding=1, math=tf32, bias=False) @ 2x16x5x12x20",
      "Conv2d(98, 40, 3, padding=1, math=tf32, residual=True) @ 2x98x9x10",
      "Conv2d(64, 72, 1, math=tf32) @ 3x64x12x10",
      "Conv2d(70, 300, 1, activation=relu) @ 40x70x14x14",
      "Conv2d(72, 40, (1,3), stride=(1,2), math=tf32, rounding=rn) @ 2x72x9x20",
      "Conv1d(32, 64, 7, stride=2, math=tf32) @ 2x32x400",
      "Conv1d(24, 40, 10, stride=3, padding=4, dilation=4, math=tf32) @ 2x24x396",
      "ConvTranspose2d(40, 24, 2, stride=2, math=tf32) @ 2x40x13x24",
      "ConvTranspose2d(8, 16, 4, stride=2, padding=1, residual=True) @ 2x8x17x19"};
  struct Case {
    Problem problem;
    const Solver* solver;
    std::string configuration;
  };
  std::vector<Case> cases;
  for (const char* text : texts) {
    const Problem problem = parse_problem(text);
    for (const Solver* solver : solvers()) {
      std::set<std::string> configurations;
      for (const Task& task : tasks_of(problem)) {
        if (!solver->supports(task, model()).ok) continue;
        for (const Candidate& candidate : solver->candidates(task, model()))
          configurations.insert(candidate.configuration);
      }
      for (const std::string& configuration : configurations) cases.push_back({problem, solver, configuration});
    }
  }
  std::vector<SolverPlan> plans;
  for (const Case& one : slice_of(cases))
    plans.emplace_back(one.problem, *one.solver, model(), testing::PlanOptions{.configuration = one.configuration});
  testing::compile_ahead(context(), plans);
  for (SolverPlan& plan : plans) {
    SCOPED_TRACE(plan.name() + " on " + spell(plan.problem()));
    plan.load(context());
    EXPECT_EQ("", testing::exact_trial(plan, context(), 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, Configurations, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
