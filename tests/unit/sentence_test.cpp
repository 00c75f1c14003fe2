#include "workbench/sentence.hpp"

#include <gtest/gtest.h>

namespace tapconv {
namespace {

CheckReport right() {
  CheckReport report;
  report.problem = parse_problem("Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256");
  CheckCase item;
  item.tensors = "uniform";
  item.outputs = 1000;
  item.worst_ratio = 0.25;
  report.cases = {item};
  report.arithmetic = report.expected_arithmetic = "fp32";
  report.passed = true;
  return report;
}

ReferenceVerdict tf32_reference() {
  return {.name = "cuDNN",
          .arithmetic = "tf32-rna",
          .rms_error = 1e-4,
          .own_rms_error = 2e-7,
          .atol = 1e-4,
          .rtol = 1e-4,
          .outputs = 1000,
          .failures = 190,
          .max_difference = 5e-4,
          .explained = 190};
}

TEST(Sentence, OfARightResult) {
  EXPECT_EQ("Right: every output examined is within the fp32 bound (the worst uses 0.25 of it), computed in true fp32.",
            sentence(right()));
}

TEST(Sentence, SaysWhyTheCustomaryCheckFails) {
  CheckReport report = right();
  report.reference = tf32_reference();
  EXPECT_EQ(
      "Right: every output examined is within the fp32 bound (the worst uses 0.25 of it), computed in true fp32. It "
      "fails the customary "
      "0.0001 check against cuDNN in 19 % of the outputs (largest difference 0.0005) because the reference computes in "
      "TF32, operands "
      "rounded to nearest, ties away from zero, and for no other reason: its RMS distance from the exact sum is "
      "0.0001, this result's "
      "2e-07, 500 times less; math=tf32, rounding=rna computes as it does.",
      sentence(report));
}

TEST(Sentence, ClaimsNoCauseThatDoesNotExplainEverything) {
  CheckReport report = right();
  report.reference = tf32_reference();
  report.reference->explained = 100;
  const std::string text = sentence(report);
  EXPECT_NE(text.find("which does not explain 47.4 % of them"), std::string::npos) << text;
  EXPECT_EQ(text.find("for no other reason"), std::string::npos) << text;
}

TEST(Sentence, OfWrongResults) {
  CheckReport report = right();
  report.passed = false;
  report.cases[0].violations = 10;
  report.cases[0].worst_place = {1, 2, 3, 4};
  report.cases[0].worst_actual = 1.5;
  report.cases[0].worst_expected = 1.25;
  EXPECT_EQ(
      "Wrong: 1 % of the outputs examined on uniform tensors are beyond the fp32 bound; the worst, output (1, 2, 3, "
      "4), is 1.5 "
      "where 1.25 is exact.",
      sentence(report));
  report.cases[0].unwritten = 1000;
  EXPECT_EQ("Wrong: 100 % of the outputs examined on uniform tensors were never written.", sentence(report));
  report.cases[0].unwritten = report.cases[0].violations = 0;
  report.arithmetic = "bf16";
  EXPECT_EQ(
      "Wrong: every output examined is within the fp32 bound, but it shows bf16 operands where the contract says true "
      "fp32.",
      sentence(report));
  report.arithmetic = "fp32";
  report.cases[0].accurate = false;
  report.cases[0].rms_error = 3e-6;
  report.cases[0].sequential_rms_error = 1e-6;
  EXPECT_EQ(
      "Wrong: every output examined is within the fp32 bound, but the RMS error on uniform tensors, 3e-06, is more "
      "than twice that of a "
      "chain of fused multiply-adds, 1e-06.",
      sentence(report));
}

TEST(Sentence, NamesTheArithmeticOfAWrongResult) {
  CheckReport report = right();
  report.passed = false;
  report.cases[0].violations = report.cases[0].nans = 10;
  report.cases[0].worst_place = {1, 2, 3, 4};
  report.cases[0].worst_actual = 1.5;
  report.cases[0].worst_expected = 1.25;
  report.arithmetic = "tf32-rn";
  EXPECT_EQ(
      "Wrong: 1 % of the outputs examined on uniform tensors are beyond the fp32 bound, 1 % are NaN; the worst, output "
      "(1, 2, 3, 4), is 1.5 where 1.25 is exact. It was computed in TF32, operands rounded to nearest, ties to even; "
      "math=tf32, rounding=rn declares that.",
      sentence(report));
  report.arithmetic = "tf32 (to nearest, tie rule undecided)";
  EXPECT_TRUE(sentence(report).ends_with("computed in TF32, operands rounded to nearest; math=tf32 declares that."))
      << sentence(report);
  report.arithmetic = "fp16";
  EXPECT_TRUE(sentence(report).ends_with("is exact. It was computed in fp16 operands.")) << sentence(report);
  for (const char* silent : {"undecided", "unknown"}) {
    report.arithmetic = silent;
    EXPECT_TRUE(sentence(report).ends_with("is exact.")) << sentence(report);
  }
}

TEST(Sentence, SaysThatTheArithmeticIsUndecided) {
  CheckReport report = right();
  report.arithmetic = "undecided";
  report.indistinguishable = {"fp32", "tf32-rna"};
  EXPECT_EQ(
      "Right: every output examined is within the fp32 bound (the worst uses 0.25 of it); these tensors do not show in "
      "which arithmetic it was computed: fp32, tf32-rna explain it equally well.",
      sentence(report));
}

TEST(Sentence, OfAnExactResult) {
  CheckReport report = right();
  report.reference = tf32_reference();
  report.reference->own_rms_error = 0;
  EXPECT_NE(sentence(report).find("0.0001, this result's 0; math=tf32"), std::string::npos) << sentence(report);
}

}  // namespace
}  // namespace tapconv
