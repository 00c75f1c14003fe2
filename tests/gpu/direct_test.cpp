// What is particular to the direct solver: it takes everything, its order of adding is that of the oracle's chain, and
// its tiles have edges.
#include <bit>

#include "../unit/all_outputs.hpp"
#include "../unit/random_problem.hpp"
#include "trial.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

class Direct : public testing::SlicedGpuTest {};

/// Neither a bound nor a tolerance: the same bits as a chain of fused multiply-adds over channels, then taps, then bias
/// and residual.
TEST_P(Direct, IsTheOraclesChainBitForBit) {
  std::vector<SolverPlan> plans;
  for (std::uint64_t seed = GetParam(); seed < 320; seed += slices) {
    Problem problem = testing::any_random_problem(seed, 1e6);
    problem.layout = Layout::contiguous;
    problem.activation = Activation::none;
    problem.negative_slope = Problem{}.negative_slope;
    SolverPlan plan(problem, testing::solver_named("direct"), model());
    for (const SolverPlan::Stage& stage : plan.stages()) ASSERT_EQ("channels, taps", stage.plan.k_order);
    plans.push_back(std::move(plan));
  }
  testing::compile_ahead(context(), plans);
  for (SolverPlan& plan : plans) {
    const Problem& problem = plan.problem();
    SCOPED_TRACE(plan.name() + " on " + spell(problem));
    plan.load(context());
    CudaTensors tensors(problem, context());
    const Recipes recipes = uniform_recipes(problem, 9);
    tensors.fill(recipes);
    ASSERT_EQ("", testing::run_guarded(plan, tensors));
    const std::vector<std::int64_t> outputs = testing::all_outputs(problem);
    const HostTensors host = testing::drawn_operands(problem, recipes);
    const std::vector<OracleOutput> expected =
        oracle(problem, host.operands(), outputs, operand_rounding(problem.contract, problem.tie_rule));
    const std::vector<double> actual = tensors.download().values();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint64_t>(expected[i].sequential), std::bit_cast<std::uint64_t>(actual[i]))
          << i << ": " << actual[i] << " for " << expected[i].sequential;
  }
}

/// Around every tile's size: channels a block, positions a block, pairs of weights held in shared memory.
TEST_P(Direct, EdgesOfItsTiles) {
  constexpr const char* texts[] = {"Conv1d(3, 15, 3) @ 1x3x130",
                                   "Conv1d(3, 16, 3) @ 1x3x129",
                                   "Conv1d(3, 17, 3) @ 1x3x131",
                                   "Conv1d(85, 33, 3, padding=1) @ 4x85x513",
                                   "Conv1d(1, 1, 255, padding=127) @ 2x1x1000",
                                   "Conv1d(2, 2, 256, padding=127) @ 2x2x1000",
                                   "Conv1d(2, 5, 257, padding=128) @ 2x2x1000",
                                   "Conv2d(3, 20, 31, padding=15) @ 1x3x64x64",
                                   "Conv2d(300, 40, 1) @ 1x300x7x7",
                                   "Conv2d(512, 512, 3, padding=1) @ 1x512x7x7",
                                   "Conv3d(3, 7, (3,5,7), padding=(1,2,3), stride=(2,1,3)) @ 2x3x9x11x20",
                                   "Conv2d(64, 192, 3, groups=64) @ 3x64x20x20",
                                   "Conv1d(1, 1, 1, stride=7) @ 1x1x1",
                                   "Conv2d(128, 4, 3, dilation=9, padding=9) @ 2x128x19x23",
                                   "ConvTranspose2d(20, 33, 19, stride=2, padding=9) @ 1x20x30x31",
                                   "DepthwiseSeparable2d(20, 33, 17, padding=8) @ 1x20x30x31"};
  std::vector<Problem> problems;
  for (const char* text : texts) {
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      for (const Contract contract : {Contract::ieee, Contract::tf32}) {
        Problem problem = parse_problem(text);
        problem.layout = layout;
        problem.contract = contract;
        problems.push_back(problem);
      }
    }
  }
  std::vector<SolverPlan> plans;
  for (const Problem& problem : slice_of(problems))
    plans.emplace_back(problem, testing::solver_named("direct"), model());
  testing::compile_ahead(context(), plans);
  for (SolverPlan& plan : plans) {
    SCOPED_TRACE(plan.name() + " on " + spell(plan.problem()));
    plan.load(context());
    EXPECT_EQ("", testing::contract_trial(plan, context(), 3));
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, Direct, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
