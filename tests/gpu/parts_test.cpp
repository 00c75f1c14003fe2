// Sums in parts: one block that computes all parts of a tile and a cluster of blocks that share them leave equal bits,
// whatever the tile and the batch.
#include <map>

#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

constexpr std::int64_t images = 9;

/// Every other configuration of `most` for each number of blocks a cluster.
std::vector<SolverPlan> plans_of_each_cluster(const Problem& problem, const Solver& solver, const DeviceModel& model,
                                              std::size_t most) {
  const Task task = tasks_of(problem).front();
  std::map<int, std::size_t> seen;
  std::vector<SolverPlan> plans;
  for (const Candidate& candidate : solver.candidates(task, model)) {
    const int cluster = solver.plan(task, candidate.configuration, model).launch(sizes_of(problem, false)).cluster;
    if (const std::size_t number = seen[cluster]++; number % 2 == 0 && number < 2 * most)
      plans.emplace_back(problem, solver, model, testing::PlanOptions{.configuration = candidate.configuration});
  }
  EXPECT_EQ(2u, seen.size()) << "not both forms are offered for " << spell(problem);
  return plans;
}

class SumsInParts : public testing::SlicedGpuTest {
 protected:
  static std::vector<std::byte> result(const SolverPlan& plan, const Operands& operands) {
    CudaTensors tensors(plan.problem(), context());
    tensors.upload(operands);
    EXPECT_EQ("", testing::run_guarded(plan, tensors));
    EXPECT_EQ("", testing::judge(plan.problem(), tensors));
    const Tensor output = tensors.download();
    const auto* const data = static_cast<const std::byte*>(output.view().data);
    return {data, data + static_cast<std::size_t>(output.size()) * element_bytes(output.dtype())};
  }

  static std::span<const std::byte> image_of(std::span<const std::byte> all, std::size_t image) {
    const std::size_t bytes = all.size() / images;
    return all.subspan(image * bytes, bytes);
  }
};

TEST_P(SumsInParts, AreEqualInOneBlockAndInAClusterAndInEveryBatch) {
  const std::vector<std::string> texts{"Conv2d(512, 512, 3, padding=1) @ 9x512x7x7",
                                       "Conv2d(512, 512, 3, padding=1, math=tf32) @ 9x512x7x7",
                                       "Conv2d(512, 2048, 1, math=tf32) @ 9x512x7x7",
                                       "Conv2d(256, 256, 3, padding=1, math=tf32, layout=channels_last) @ 9x256x14x14",
                                       "Conv2d(512, 320, 1, stride=2, residual=True, activation=relu) @ 9x512x28x28",
                                       "Conv1d(768, 1536, 1, math=tf32) @ 9x768x896",
                                       "Conv2d(197, 45, 3, stride=2, math=tf32) @ 9x197x19x23",
                                       "Conv3d(96, 72, 3, padding=1) @ 9x96x5x6x9",
                                       "ConvTranspose2d(264, 40, 3, groups=2) @ 9x264x9x11",
                                       "Conv2d(64, 64, 3, padding=1, math=tf32) @ 9x64x56x56"};
  for (const std::string& text : slice_of(texts)) {
    const Problem whole = parse_problem(text);
    Problem one = whole;
    one.batch = 1;
    std::vector<SolverPlan> plans = plans_of_each_cluster(whole, testing::solver_named("warpgroup"), model(), 4);
    for (SolverPlan& plan : plans_of_each_cluster(one, testing::solver_named("warpgroup"), model(), 4))
      plans.push_back(std::move(plan));
    testing::compile_ahead(context(), plans);
    const HostTensors host = testing::drawn_operands(whole, uniform_recipes(whole, 5));
    std::vector<std::byte> expected;
    for (SolverPlan& plan : plans) {
      SCOPED_TRACE(plan.name() + " on " + spell(plan.problem()));
      plan.load(context());
      if (plan.problem().batch == images) {
        const std::vector<std::byte> actual = result(plan, host.operands());
        if (expected.empty()) expected = actual;
        EXPECT_TRUE(expected == actual);
        continue;
      }
      for (const std::size_t image : {0u, 8u}) {
        Operands operands = host.operands();
        operands.input = image_of(operands.input, image);
        operands.residual = image_of(operands.residual, image);
        EXPECT_TRUE(std::ranges::equal(image_of(expected, image), result(plan, operands))) << "image " << image;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, SumsInParts, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
