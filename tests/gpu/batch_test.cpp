// An image gives the same bits alone and among others, with every solver and with the planner's choice.
#include <algorithm>

#include "../unit/problem_matrix.hpp"
#include "trial.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

using testing::SolverPlan;

constexpr std::int64_t images = 5;

Problem with_batch(Problem problem, std::int64_t batch) {
  problem.batch = batch;
  return problem;
}

/// Image `image` of a tensor of all images.
std::span<const std::byte> part(std::span<const std::byte> all, std::size_t image) {
  const std::size_t bytes = all.size() / images;
  return all.subspan(image * bytes, bytes);
}

Operands part(Operands operands, std::size_t image) {
  operands.input = part(operands.input, image);
  operands.residual = part(operands.residual, image);
  return operands;
}

class Batch : public testing::SlicedGpuTest {
 protected:
  static std::vector<std::byte> bytes_of(const Tensor& tensor) {
    const auto* const data = static_cast<const std::byte*>(tensor.view().data);
    return {data, data + static_cast<std::size_t>(tensor.size()) * element_bytes(tensor.dtype())};
  }

  static std::vector<std::byte> result(const SolverPlan& plan, const Operands& operands) {
    CudaTensors tensors(plan.problem(), context());
    tensors.upload(operands);
    EXPECT_EQ("", testing::run_guarded(plan, tensors));
    return bytes_of(tensors.download());
  }
};

TEST_P(Batch, DoesNotMatterToAnySolver) {
  std::vector<Problem> all = testing::problem_matrix();
  std::erase_if(all, [](const Problem& problem) { return problem.rank != 2; });
  // Problems that small do not tempt anybody to split their sums; these do.
  for (const char* text :
       {"Conv2d(37, 45, 3, padding=1) @ 5x37x33x29", "Conv2d(256, 32, 3, padding=1) @ 5x256x7x7",
        "Conv1d(640, 16, 1) @ 5x640x20", "ConvTranspose2d(128, 8, 4, stride=2) @ 5x128x5x5",
        "Conv3d(48, 24, 3, padding=1, groups=2) @ 5x48x6x5x4", "Conv2d(64, 64, 5, padding=2, groups=64) @ 5x64x9x9"}) {
    for (const testing::MatrixArithmetic& arithmetic : testing::all_arithmetics()) {
      Problem problem = parse_problem(text);
      problem.dtype = problem.out_dtype = arithmetic.dtype;
      problem.contract = arithmetic.contract;
      problem.tie_rule = arithmetic.tie_rule;
      all.push_back(problem);
    }
  }
  std::vector<SolverPlan> plans;
  for (const Problem& problem : slice_of(all)) {
    for (const Solver* solver : solvers()) {
      const Problem whole = with_batch(problem, images), one = with_batch(problem, 1);
      if (!SolverPlan::takes(whole, *solver, model()) || !SolverPlan::takes(one, *solver, model())) continue;
      plans.emplace_back(whole, *solver, model());
      plans.emplace_back(one, *solver, model());
    }
  }
  testing::compile_ahead(context(), plans);
  for (std::size_t i = 0; i < plans.size(); i += 2) {
    const SolverPlan &whole = plans[i], &one = plans[i + 1];
    SCOPED_TRACE(whole.name() + ", alone " + one.name() + ", on " + spell(whole.problem()));
    plans[i].load(context());
    plans[i + 1].load(context());
    const HostTensors host = testing::drawn_operands(whole.problem(), uniform_recipes(whole.problem(), 3));
    const std::vector<std::byte> together = result(whole, host.operands());
    for (const std::size_t image : {0u, 1u, 4u})
      EXPECT_TRUE(std::ranges::equal(part(together, image), result(one, part(host.operands(), image))))
          << "image " << image;
  }
}

TEST_P(Batch, DoesNotMatterToThePlanner) {
  const std::vector<Problem> problems = slice_of(testing::problem_matrix());
  for (std::size_t i = 0; i < problems.size(); i += 4) {
    const Problem whole = with_batch(problems[i], images), one = with_batch(problems[i], 1);
    SCOPED_TRACE(spell(whole));
    const HostTensors host = testing::drawn_operands(whole, uniform_recipes(whole, 4));
    const auto compute = [](const Problem& problem, const Operands& operands) {
      const auto session = open(problem);
      session->upload(operands);
      execute(*session, session->engine());
      return bytes_of(session->download());
    };
    const std::vector<std::byte> together = compute(whole, host.operands());
    for (const std::size_t image : {0u, 4u})
      EXPECT_TRUE(std::ranges::equal(part(together, image), compute(one, part(host.operands(), image))))
          << "image " << image;
  }
}

INSTANTIATE_TEST_SUITE_P(Slices, Batch, ::testing::Range(0, testing::SlicedGpuTest::slices));

}  // namespace
}  // namespace tapconv
