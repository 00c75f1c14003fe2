// Problems that need much of the device's memory, by themselves: tensors beyond 32 bits, and the published problems.
#include <algorithm>

#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

/// Runs every solver on a problem's own tensors, without guard zones, and judges about `most_outputs` outputs.
void expect_right(const Problem& problem, const DeviceModel& model, std::int64_t most_outputs) {
  const cuda::Context& context = cuda::Context::get(0);
  std::vector<SolverPlan> plans = testing::plans_of(problem, model);
  testing::compile_ahead(context, plans);
  CudaTensors tensors(problem, context);
  tensors.fill(uniform_recipes(problem, 1));
  const std::vector<std::int64_t> outputs = sample_outputs(problem, most_outputs, 1);
  EXPECT_EQ(element_count(output_shape(problem)) - 1, outputs.back());
  for (SolverPlan& plan : plans) {
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    plan.load(context);
    const cuda::Buffer workspace(context, plan.workspace_bytes());
    tensors.fill_output(0xff);
    plan.run(tensors.pointers(), workspace.as(), tensors.stream().handle());
    const Outputs actual = tensors.gather(outputs);
    EXPECT_EQ(0, std::ranges::count(actual.unwritten, true));
    EXPECT_EQ("", testing::judge(problem, tensors, most_outputs));
  }
}

class LargeTensors : public testing::GpuTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(LargeTensors, AreRight) { expect_right(parse_problem(GetParam()), model(), 200000); }

INSTANTIATE_TEST_SUITE_P(
    All, LargeTensors,
    ::testing::Values("Conv1d(1, 32, 3, padding=1) @ 1x1x67108864",                   // exactly 2^31 outputs
                      "Conv1d(32, 1, 3, padding=1) @ 1x32x67108864",                  // exactly 2^31 inputs
                      "Conv1d(1, 32, 1, residual=True) @ 1x1x67108864",               // and residuals
                      "Conv1d(1, 33, 3, padding=1, dtype=float16) @ 1x1x67108864",    // beyond 2^32 bytes of outputs
                      "Conv1d(33, 1, 3, padding=1, dtype=bfloat16) @ 1x33x67108864",  // and of inputs
                      "Conv2d(32, 4, 1, layout=channels_last) @ 1x32x8192x8193",
                      // of channels enough for tensor cores, in both layouts
                      "Conv2d(40, 16, 3, padding=1, math=tf32, layout=channels_last) @ 1x40x8192x8193",
                      "Conv1d(40, 16, 3, padding=1) @ 1x40x67108864",
                      "Conv1d(1, 1, 1) @ 2147483648x1x1",                    // exactly 2^31 images
                      "ConvTranspose1d(1, 1, 3, stride=32) @ 1x1x67108865",  // 2^31 positions, most without a tap
                      "DepthwiseSeparable1d(32, 2, 3) @ 1x32x67108866",      // 2^31 values between
                      "Conv1d(2147483649, 2147483649, 1, groups=2147483649, bias=False) @ "
                      "1x2147483649x1"));  // more blocks than one row of the grid

TEST(LargeTensorSizes, AreWhatTheProblemsAreNamedFor) {
  const auto outputs = [](const char* text) { return element_count(output_shape(parse_problem(text))); };
  EXPECT_EQ(std::int64_t{1} << 31, outputs("Conv1d(1, 32, 3, padding=1) @ 1x1x67108864"));
  EXPECT_EQ(std::int64_t{1} << 31,
            element_count(input_shape(parse_problem("Conv1d(32, 1, 3, padding=1) @ 1x32x67108864"))));
  EXPECT_GT(2 * outputs("Conv1d(1, 33, 3, padding=1, dtype=float16) @ 1x1x67108864"), std::int64_t{1} << 32);
  EXPECT_GE(outputs("ConvTranspose1d(1, 1, 3, stride=32) @ 1x1x67108865"), std::int64_t{1} << 31);
}

/// By their place in published_problems().
class LargePublished : public testing::GpuTest, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(LargePublished, IsRight) { expect_right(published_problems().at(GetParam()).problem, model(), 1000000); }

INSTANTIATE_TEST_SUITE_P(All, LargePublished, ::testing::Range(std::size_t{0}, published_problems().size()),
                         [](const ::testing::TestParamInfo<std::size_t>& one) {
                           return published_problems().at(one.param).name;
                         });

}  // namespace
}  // namespace tapconv
