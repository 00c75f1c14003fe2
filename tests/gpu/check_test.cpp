#include "gpu_test.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {
namespace {

using Check = testing::GpuTest;

CheckReport check_on_gpu(const char* text, const char* against = "") {
  CheckRequest request;
  request.problem = parse_problem(text);
  request.device = {.kind = Device::Kind::cuda, .index = 0};
  request.against = against;
  return check(request);
}

TEST_F(Check, EveryContractPassesAndShowsItsArithmetic) {
  const std::pair<const char*, const char*> contracts[] = {
      {"ieee", "fp32"}, {"fp32", "fp32"}, {"tf32, rounding=rna", "tf32-rna"}, {"tf32, rounding=rn", "tf32-rn"}};
  for (const auto& [math, arithmetic] : contracts) {
    const CheckReport report =
        check_on_gpu(("Conv2d(64, 48, (5,7), bias=True, math=" + std::string(math) + ") @ 2x64x40x50").c_str());
    EXPECT_TRUE(report.passed) << report.sentence;
    EXPECT_EQ(arithmetic, report.arithmetic);
    EXPECT_EQ(3u, report.cases.size());
  }
}

TEST_F(Check, SaysWhyAnFp32ResultDiffersFromTheDefaultReference) {
  const CheckReport report = check_on_gpu("Conv2d(64, 128, (5,7), bias=False, math=fp32) @ 2x64x128x128", "cudnn");
  EXPECT_TRUE(report.passed);
  ASSERT_TRUE(report.reference.has_value());
  EXPECT_EQ("tf32-rna", report.reference->arithmetic);
  EXPECT_GT(report.reference->failures, report.reference->outputs / 50);
  EXPECT_EQ(report.reference->failures, report.reference->explained);
  EXPECT_NE(report.sentence.find("because the reference computes in TF32"), std::string::npos) << report.sentence;
}

TEST_F(Check, TheSameArithmeticPassesTheCustomaryCheck) {
  const CheckReport report = check_on_gpu("Conv2d(64, 128, (5,7), bias=False, math=tf32) @ 2x64x128x128", "cudnn");
  EXPECT_TRUE(report.passed);
  ASSERT_TRUE(report.reference.has_value());
  EXPECT_EQ(0, report.reference->failures) << report.sentence;
}

TEST_F(Check, BenchMeasuresVerifiesAndOrders) {
  BenchRequest request;
  request.problem = parse_problem("Conv2d(64, 64, 3, padding=1, math=tf32) @ 4x64x56x56");
  request.device = {.kind = Device::Kind::cuda, .index = 0};
  request.against = {"cudnn"};
  request.rounds = 7;
  request.idle_ms = 5;
  request.sustained_s = 0.05;
  const BenchReport report = bench(request);
  EXPECT_EQ("tf32-rna", report.engine.arithmetic);
  EXPECT_LE(report.engine.max_bound_ratio, 1);
  ASSERT_FALSE(report.references.empty());
  for (const BenchEntry& entry : report.references) {
    EXPECT_GT(entry.spaced_ms, 0);
    EXPECT_LE(entry.max_bound_ratio, 1) << entry.name;
    EXPECT_GE(entry.spaced_ms, report.references.front().spaced_ms);
    EXPECT_FALSE(entry.implausible);
  }
  EXPECT_TRUE(report.as_declared);
  ASSERT_TRUE(report.ratio.has_value());
  EXPECT_LE(report.ratio->low, report.ratio->median);
  EXPECT_LE(report.ratio->median, report.ratio->high);
}

}  // namespace
}  // namespace tapconv
