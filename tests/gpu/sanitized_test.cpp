// A few problems on every solver, small enough to run under compute-sanitizer. Every tensor has an allocation of its
// own, exactly as large as it is, so that its tools see each access that leaves it.
#include <cmath>

#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

class Sanitized : public testing::GpuTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Sanitized, KeepsItsContract) {
  Problem problem = parse_problem(GetParam());
  for (const bool packed : {false, true}) {
    std::vector<SolverPlan> plans =
        testing::plans_of(problem, model(), {.configuration = {}, .wide = false, .packed = packed});
    testing::compile_ahead(context(), plans);
    for (SolverPlan& plan : plans) {
      SCOPED_TRACE(plan.name());
      plan.load(context());
      CudaTensors tensors(problem, context());
      tensors.fill(uniform_recipes(problem, 1));
      tensors.fill_output(0xff);
      const cuda::Buffer workspace(context(), plan.workspace_bytes());
      plan.run(tensors.pointers(), workspace.as(), tensors.stream().handle());
      EXPECT_EQ("", testing::judge(problem, tensors));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Sanitized,
    ::testing::Values("Conv1d(3, 5, 3, padding=1, math=ieee) @ 2x3x37",
                      "Conv1d(2, 3, 300, padding=150, math=tf32) @ 1x2x333",
                      "Conv2d(9, 17, 3, stride=2, padding=1, residual=True, activation=gelu) @ 2x9x11x13",
                      "Conv2d(8, 20, 3, padding=1, layout=channels_last, math=tf32) @ 2x8x9x11",
                      "Conv2d(40, 72, 1, math=tf32, residual=True) @ 3x40x12x12",
                      "Conv1d(16, 24, 1, stride=2) @ 2x16x75",
                      "ConvTranspose2d(16, 24, 4, stride=2, padding=1, math=tf32) @ 2x16x7x12",
                      "Conv2d(12, 24, 3, groups=12, padding=1, dtype=bfloat16) @ 2x12x9x11",
                      "Conv3d(4, 6, 2, padding=1, padding_mode=reflect, dtype=float16) @ 1x4x4x5x6",
                      "Conv2d(4, 6, 3, dtype=float64) @ 1x4x9x8",
                      "ConvTranspose2d(5, 7, 3, stride=2, padding=1, math=fp32) @ 2x5x7x6",
                      "ConvTranspose1d(8, 8, 2, stride=5, layout=channels_last, math=tf32) @ 2x8x21",
                      "DepthwiseSeparable2d(6, 10, 3, padding=1, math=tf32) @ 2x6x8x9"));
// Blocks of a cluster read each other's sums: for the tools that understand it.
INSTANTIATE_TEST_SUITE_P(Clusters, Sanitized, ::testing::Values("Conv2d(48, 24, 3, padding=1, math=tf32) @ 1x48x7x7"));

}  // namespace
}  // namespace tapconv
