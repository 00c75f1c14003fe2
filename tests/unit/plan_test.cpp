#include <gtest/gtest.h>

#include "tapconv/engine.hpp"
#include "tapconv/error.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

TEST(Plan, DescribesAProblemForEveryModelWithoutAGpu) {
  for (const char* model : {"h200", "h100", "a100", "l40s", "rtx4090", "b200", "rtx5090"}) {
    SCOPED_TRACE(model);
    const PlanReport report = plan(parse_problem("Conv2d(8, 16, 3, padding=1) @ 2x8x30x30"), parse_device(model));
    ASSERT_EQ(1u, report.stages.size());
    ASSERT_EQ(1u, report.floors.size());
    EXPECT_EQ(report.device_name, report.floors.front().device_name);
    EXPECT_EQ(std::string(model) != "h200", report.floors.front().reach_derived);
    const PlannedStage& stage = report.stages.front();
    const bool hopper = model == std::string("h200") || model == std::string("h100");
    EXPECT_EQ(hopper ? "warpgroup" : "direct", stage.solver);
    EXPECT_GT(stage.predicted_ms.value(), stage.floor->limit_ms);
    EXPECT_FALSE(stage.k_order.empty());
    ASSERT_EQ(1u, stage.kernels.size());
    EXPECT_GT(stage.kernels.front().blocks, 0);
    if (!report.not_compiled.empty()) continue;  // NVRTC is not installed
    ASSERT_TRUE(stage.kernels.front().resources.has_value());
    EXPECT_GT(stage.kernels.front().resources->registers, 0);
    EXPECT_EQ(0, stage.kernels.front().resources->local_bytes);
  }
}

TEST(Plan, HasAStageForEachHalfOfASeparableLayerAndAKernelForOutputsThatNoTapReaches) {
  const Device device = parse_device("a100");
  const PlanReport separable = plan(parse_problem("DepthwiseSeparable2d(8, 16, 3) @ 1x8x9x9"), device);
  ASSERT_EQ(2u, separable.stages.size());
  EXPECT_EQ(8u * 7 * 7 * 4, separable.workspace_bytes);
  EXPECT_EQ("direct, direct", separable.solver);
  const PlanReport gaps = plan(parse_problem("ConvTranspose1d(3, 4, 2, stride=3) @ 2x3x9"), device);
  ASSERT_EQ(1u, gaps.stages.size());
  EXPECT_EQ(2u, gaps.stages.front().kernels.size());
}

TEST(Plan, SourcesAreWhatIsPlanned) {
  const Device device = parse_device("h200");
  const Problem problem = parse_problem("ConvTranspose1d(3, 4, 2, stride=3) @ 2x3x9");
  const std::vector<PlannedSource> sources = plan_sources(problem, device);
  const PlanReport report = plan(problem, device);
  ASSERT_EQ(report.stages.front().kernels.size(), sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(report.stages.front().kernels[i].entry, sources[i].entry);
    EXPECT_EQ(spell(problem), sources[i].stage);
    EXPECT_NE(std::string::npos, sources[i].text.find("extern \"C\" __global__"));
    EXPECT_NE(std::string::npos, sources[i].text.find(sources[i].entry + "("));
  }
  testing::expect_error(ErrorCode::usage, "device = cpu", [&] { (void)plan_sources(problem, {}); });
}

}  // namespace
}  // namespace tapconv
