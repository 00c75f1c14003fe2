#include "tapconv/fingerprint.hpp"

#include <algorithm>

#include "engine/persisting_l2.hpp"
#include "gpu_test.hpp"

namespace tapconv {
namespace {

using FingerprintOnGpu = testing::GpuTest;

FingerprintReport report_of(const std::string& problem, std::vector<std::string> of) {
  FingerprintRequest request;
  request.problem = parse_problem(problem);
  request.device = {.kind = Device::Kind::cuda, .index = 0};
  request.of = std::move(of);
  return fingerprint(request);
}

TEST_F(FingerprintOnGpu, OfTheEngineUnderEveryContract) {
  const std::pair<const char*, const char*> contracts[] = {
      {"ieee", "fp32"}, {"fp32", "fp32"}, {"tf32, rounding=rna", "tf32-rna"}, {"tf32, rounding=rn", "tf32-rn"}};
  for (const auto& [math, arithmetic] : contracts) {
    const FingerprintReport report =
        report_of("Conv2d(128, 48, (5,7), math=" + std::string(math) + ") @ 2x128x40x50", {"engine"});
    ASSERT_EQ(1u, report.entries.size());
    EXPECT_EQ(arithmetic, report.entries.front().arithmetic);
    if (math == std::string("ieee")) {
      EXPECT_NE(Summation::truncated, report.entries.front().summation) << "fused multiply-adds do not truncate";
    }
    EXPECT_TRUE(report.as_declared);
  }
}

TEST_F(FingerprintOnGpu, OfEveryCudnnConfiguration) {
  const FingerprintReport report =
      report_of("Conv2d(64, 64, 3, padding=1, math=tf32) @ 4x64x56x56", {"engine", "cudnn"});
  int tf32 = 0, truncated = 0;
  for (const FingerprintEntry& entry : report.entries) {
    if (entry.source != "cudnn") continue;
    const bool rounds = entry.arithmetic.starts_with("tf32");
    tf32 += rounds;
    truncated += rounds && entry.summation == Summation::truncated;
    EXPECT_EQ(std::string::npos, entry.name.find('{')) << "knobs are no part of a name";
  }
  EXPECT_GT(tf32, 0);
  EXPECT_GT(truncated, 0) << "tensor cores truncate as they add";
}

TEST_F(FingerprintOnGpu, CudnnWithoutTf32ComputesInBinary32) {
  const FingerprintReport report = report_of("Conv2d(64, 64, 1, math=fp32) @ 4x64x28x28", {"cudnn"});
  ASSERT_FALSE(report.entries.empty());
  const auto exact = std::ranges::count(report.entries, "fp32", &FingerprintEntry::arithmetic);
  EXPECT_GT(exact, 0);
}

TEST_F(FingerprintOnGpu, PersistingLinesAreReset) { EXPECT_NO_THROW(reset_persisting_l2(context())); }

}  // namespace
}  // namespace tapconv
