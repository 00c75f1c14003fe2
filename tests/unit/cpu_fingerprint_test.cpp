#include <gtest/gtest.h>

#include <algorithm>

#include "tapconv/fingerprint.hpp"

namespace tapconv {
namespace {

FingerprintReport report_of(const char* problem) {
  FingerprintRequest request;
  request.problem = parse_problem(problem);
  request.of = {"engine", "onednn"};
  return fingerprint(request);
}

TEST(CpuFingerprint, OfTheEngineUnderEveryContract) {
  const std::pair<const char*, const char*> contracts[] = {
      {"fp32", "fp32"}, {"tf32, rounding=rna", "tf32-rna"}, {"tf32, rounding=rn", "tf32-rn"}};
  for (const char* const layer :
       {"Conv2d(32, 16, 3, padding=1", "ConvTranspose2d(32, 16, 3, stride=2", "Conv2d(32, 32, 5, groups=4"}) {
    for (const auto& [math, arithmetic] : contracts) {
      const FingerprintReport report = report_of((std::string(layer) + ", math=" + math + ") @ 1x32x20x20").c_str());
      ASSERT_FALSE(report.entries.empty());
      EXPECT_EQ("engine", report.entries.front().source);
      EXPECT_EQ(arithmetic, report.entries.front().arithmetic) << spell(report.problem);
      EXPECT_TRUE(report.as_declared);
    }
  }
}

TEST(CpuFingerprint, OfTheLibraryWhichKnowsBinary32Alone) {
  const FingerprintReport report = report_of("Conv2d(32, 16, 3, math=tf32) @ 1x32x20x20");
  int of_library = 0;
  for (const FingerprintEntry& entry : report.entries) {
    if (entry.source != "onednn") continue;
    ++of_library;
    EXPECT_EQ("fp32", entry.arithmetic) << entry.name;
  }
  EXPECT_GT(of_library, 0);
}

TEST(CpuFingerprint, SaysWhatTheLibraryRefuses) {
  const FingerprintReport report = report_of("DepthwiseSeparable2d(8, 16, 3) @ 1x8x20x20");
  ASSERT_EQ(1u, report.refusals.size());
  EXPECT_EQ("onednn", report.refusals.front().name);
  EXPECT_FALSE(report.refusals.front().reason.empty());
  EXPECT_EQ(1u, report.entries.size());
}

TEST(CpuFingerprint, OfASuite) {
  FingerprintRequest request;
  request.of = {"engine"};
  std::vector<NamedProblem> problems = parse_problems("Conv1d(8, 8, 3, math=tf32) @ 2x8x64");
  problems.push_back(problems.front());
  problems.back().problem.out_channels = 0;
  std::vector<FingerprintRow> rows;
  fingerprint_suite(problems, request, [&](const FingerprintRow& row) { rows.push_back(row); });
  ASSERT_EQ(2u, rows.size());
  ASSERT_TRUE(rows[0].report.has_value());
  EXPECT_EQ("tf32-rna", rows[0].report->entries.front().arithmetic);
  EXPECT_FALSE(rows[1].report.has_value());
  EXPECT_NE(rows[1].reason.find("out_channels"), std::string::npos) << rows[1].reason;
}

}  // namespace
}  // namespace tapconv
