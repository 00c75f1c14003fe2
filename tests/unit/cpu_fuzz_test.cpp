#include <gtest/gtest.h>

#include <algorithm>

#include "engine/session.hpp"
#include "oracle/statistics.hpp"
#include "random_problem.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

TEST(CpuFuzz, TwoHundredRandomProblemsKeepTheirContracts) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem = testing::random_problem(seed, 2e6);
    SCOPED_TRACE(spell(problem));
    const auto session = Session::open(problem, {.kind = Device::Kind::cpu, .index = 0});
    const auto outputs = sample_outputs(problem, element_count(output_shape(problem)), 0);
    for (const Recipes& recipes :
         {uniform_recipes(problem, seed), sparse_recipes(problem, seed), tie_recipes(problem, seed)}) {
      session->fill(recipes);
      execute(*session, session->engine());
      const auto actual = session->gather(outputs);
      EXPECT_EQ(0, std::count_if(actual.begin(), actual.end(), Session::unwritten));
      ErrorStatistics statistics(problem.contract);
      statistics.add(outputs, actual, session->evaluate(outputs, operand_rounding(problem.contract, problem.tie_rule)));
      EXPECT_EQ(0, statistics.violations()) << "worst ratio " << statistics.worst_ratio();
    }
  }
}

TEST(CpuFuzz, CheckRaisesNoFalseAlarm) {
  // Every second one is tiny, where chance could decide.
  for (unsigned seed = 500; seed < 700; ++seed) {
    CheckRequest request;
    request.problem = testing::random_problem(seed, seed % 2 ? 2e5 : 2e3);
    request.device = {.kind = Device::Kind::cpu, .index = 0};
    request.tensors.seed = seed;
    const CheckReport report = check(request);
    EXPECT_TRUE(report.passed) << spell(request.problem) << ": " << report.sentence;
  }
}

}  // namespace
}  // namespace tapconv
