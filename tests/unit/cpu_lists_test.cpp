#include <gtest/gtest.h>

#include "tapconv/workbench.hpp"

namespace tapconv {
namespace {

TEST(CpuLists, EveryProblemKeepsItsContractAtReducedSize) {
  for (const ProblemList& list : problem_lists()) {
    for (const NamedProblem& named : list.problems) {
      const Problem problem = reduced(named.problem);
      SCOPED_TRACE(named.name + ": " + spell(problem));
      CheckRequest request;
      request.problem = problem;
      request.samples = 0;
      request.stages = {"full", "fingerprint"};
      const CheckReport report = check(request);
      EXPECT_TRUE(report.passed) << report.sentence;
      for (const CheckCase& judged : report.cases) {
        EXPECT_EQ(judged.outputs, element_count(output_shape(problem))) << judged.tensors;
      }
    }
  }
}

}  // namespace
}  // namespace tapconv
