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

TEST(Sentence, BeginsWithTheFirstFailedStageAndEndsWithTheDiagnosis) {
  CheckReport report = right();
  report.passed = false;
  const auto stage = [&](const char* name, CheckStage::Result result, const char* reason) {
    CheckStage& added = report.stages.emplace_back();
    added.name = name;
    added.result = result;
    added.reason = reason;
    added.problem = spell(report.problem);
  };
  stage("integers", CheckStage::Result::failed, "one thing is wrong");
  stage("impulses", CheckStage::Result::failed, "another is");
  stage("full", CheckStage::Result::failed, "");
  stage("neighbours", CheckStage::Result::failed, "and a third");
  EXPECT_EQ("Wrong: one thing is wrong.", sentence(report));
  report.stages[0].problem = "Conv1d(1, 1, 1) @ 1x1x4";
  EXPECT_EQ("Wrong: one thing is wrong, computing Conv1d(1, 1, 1) @ 1x1x4.", sentence(report));
  report.arithmetic = "bf16";
  EXPECT_TRUE(sentence(report).ends_with(" It was computed in bf16 operands.")) << sentence(report);
  report.diagnosis = Diagnosis{};
  report.diagnosis->sentence = "The filter is flipped.";
  EXPECT_TRUE(sentence(report).ends_with(" It was computed in bf16 operands.")) << sentence(report);
  report.arithmetic = "unknown";
  EXPECT_TRUE(sentence(report).ends_with("1x1x4. The filter is flipped.")) << sentence(report);

  // Of the problem itself the sentence says more than a stage after it.
  report.stages[0].result = report.stages[1].result = CheckStage::Result::passed;
  report.cases[0].violations = 10;
  EXPECT_TRUE(sentence(report).starts_with("Wrong: 1 % of the outputs examined on uniform tensors"))
      << sentence(report);
  report.cases[0].violations = 0;
  report.arithmetic = "fp32";
  report.diagnosis.reset();
  EXPECT_EQ("Wrong: and a third.", sentence(report));
}

TEST(Sentence, OfFewStages) {
  CheckReport report = right();
  report.arithmetic = "";
  EXPECT_EQ("Right: every output examined is within the fp32 bound (the worst uses 0.25 of it).", sentence(report));
  report.cases.clear();
  EXPECT_EQ("Right: every stage that was asked for is passed.", sentence(report));
}

TEST(Sentence, CallsAnExactSumSo) {
  CheckCase item = right().cases[0];
  item.tensors = "exact integers";
  item.exact = true;
  item.violations = 5;
  item.worst_place = {0, 1};
  item.worst_actual = 2;
  item.worst_expected = 3;
  EXPECT_EQ(
      "0.5 % of the outputs examined on exact integers are not the exact sum; the worst, output (0, 1), is 2 "
      "where 3 is exact",
      fault_of(item, right().problem));
  item.violations = 0;
  EXPECT_EQ("", fault_of(item, right().problem));
}

TEST(Sentence, OfAnExactResult) {
  CheckReport report = right();
  report.reference = tf32_reference();
  report.reference->own_rms_error = 0;
  EXPECT_NE(sentence(report).find("0.0001, this result's 0; math=tf32"), std::string::npos) << sentence(report);
}

}  // namespace
}  // namespace tapconv
