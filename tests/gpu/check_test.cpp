#include <algorithm>

#include "engine/session.hpp"
#include "gpu_test.hpp"
#include "tapconv/error.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/exact_operands.hpp"

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

TEST_F(Check, EveryStagePassesOnTheProblemItselfAndOnAReducedOne) {
  for (const char* text :
       {"Conv2d(16, 24, 3, padding=1, math=fp32) @ 2x16x20x20",
        "Conv2d(64, 64, 3, padding=1, math=ieee) @ 16x64x128x128",
        "ConvTranspose2d(16, 8, 4, stride=2, padding=1, dtype=bfloat16, layout=channels_last) @ 2x16x9x9",
        "DepthwiseSeparable1d(12, 10, 3, padding=1, math=tf32) @ 2x12x50"}) {
    CheckRequest request;
    request.problem = parse_problem(text);
    request.device = {.kind = Device::Kind::cuda, .index = 0};
    request.solver = "direct";
    request.secret_seed = 3;
    const CheckReport report = check(request);
    EXPECT_TRUE(report.passed) << report.sentence;
    EXPECT_EQ(std::size(check_stages), report.stages.size());
    for (const CheckStage& stage : report.stages) EXPECT_EQ(CheckStage::Result::passed, stage.result) << stage.name;
  }
}

TEST_F(Check, AHostFunctionIsJudgedOnADeviceToo) {
  CheckRequest request;
  request.problem = parse_problem("Conv1d(1, 1, 1, bias=False) @ 1x1x100");
  request.device = {.kind = Device::Kind::cuda, .index = 0};
  bool changes_input = false;
  request.function =
      HostFunction{"scale", [&](const Problem& problem, const HostViews& tensors) {
                     if (problem.kernel[0] != 1 || problem.in_channels != 1 || problem.out_channels != 1 ||
                         problem.stride[0] != 1 || problem.padding_lo[0] != 0 || problem.padding_hi[0] != 0)
                       throw Error(ErrorCode::usage, "another layer");
                     const auto* x = static_cast<const float*>(tensors.input.data);
                     const float w = *static_cast<const float*>(tensors.weight.data);
                     auto* y = static_cast<float*>(tensors.output.data);
                     for (std::int64_t i = 0; i < element_count(tensors.output.shape); ++i) y[i] = w * x[i] + 0.0f;
                     if (changes_input) const_cast<float*>(x)[0] += 1;
                   }};
  const CheckReport right = check(request);
  EXPECT_TRUE(right.passed) << right.sentence;
  changes_input = true;
  const CheckReport wrong = check(request);
  EXPECT_FALSE(wrong.passed);
  EXPECT_NE(wrong.sentence.find("the input was changed"), std::string::npos) << wrong.sentence;
}

TEST_F(Check, OperandsComeBackAsTheyWereUploadedAndDrawn) {
  const Problem problem = parse_problem("DepthwiseSeparable2d(4, 6, 3, residual=True) @ 2x4x8x8");
  const Device device{.kind = Device::Kind::cuda, .index = 0};
  const auto session = Session::open(problem, device), host = Session::open(problem, Device{});
  const auto expect_equal = [&] {
    const Operands a = session->host_operands(), b = host->host_operands();
    EXPECT_TRUE(std::ranges::equal(a.input, b.input) && std::ranges::equal(a.weight, b.weight) &&
                std::ranges::equal(a.bias, b.bias) && std::ranges::equal(a.pointwise_weight, b.pointwise_weight) &&
                std::ranges::equal(a.pointwise_bias, b.pointwise_bias) && std::ranges::equal(a.residual, b.residual));
  };
  session->fill(uniform_recipes(problem, 5));
  host->fill(uniform_recipes(problem, 5));
  expect_equal();
  const ExactOperands integers(problem, 2);
  session->upload(integers.tensors.operands());
  host->upload(integers.tensors.operands());
  expect_equal();
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
    // The device is shared with other tests, so that two clocks may disagree.
    EXPECT_EQ(std::string::npos, entry.doubt.find("physically possible")) << entry.doubt;
  }
  EXPECT_TRUE(report.as_declared);
  ASSERT_TRUE(report.ratio.has_value());
  EXPECT_LE(report.ratio->low, report.ratio->median);
  EXPECT_LE(report.ratio->median, report.ratio->high);
}

}  // namespace
}  // namespace tapconv
