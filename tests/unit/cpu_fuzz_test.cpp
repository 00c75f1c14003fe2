#include <gtest/gtest.h>

#include "expect_contract.hpp"
#include "random_problem.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {
namespace {

TEST(CpuFuzz, TwoHundredRandomProblemsKeepTheirContracts) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Problem problem = testing::random_problem(seed, 2e6);
    const auto session = Session::open(problem, {.kind = Device::Kind::cpu, .index = 0});
    testing::expect_within_contract_on_all(*session, seed);
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
