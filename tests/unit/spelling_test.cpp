#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "extreme_problem.hpp"
#include "problem/validity.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

std::string canonical(std::string_view text) { return spell(parse_problem(text)); }

TEST(Parse, ReadsEveryFieldOfAConvolution) {
  const Problem problem = parse_problem(
      "Conv3d(6, 12, (1, 2, 3), stride=(4, 5, 6), padding=((7, 1), 3, (-1, 9)), dilation=(2, 3, 1), groups=3, "
      "bias=False, padding_mode='replicate', dtype=float32, out_dtype=bfloat16, layout=channels_last, math=tf32, "
      "rounding=rn, residual=True, activation=leaky_relu, negative_slope=0.25) @ 2?x6x10x11?x12");
  Problem expected;
  expected.rank = 3;
  expected.batch = 2;
  expected.in_channels = 6;
  expected.out_channels = 12;
  expected.input = {10, 11, 12};
  expected.kernel = {1, 2, 3};
  expected.stride = {4, 5, 6};
  expected.padding_lo = {7, 3, -1};
  expected.padding_hi = {1, 3, 9};
  expected.dilation = {2, 3, 1};
  expected.groups = 3;
  expected.bias = false;
  expected.padding_mode = PaddingMode::replicate;
  expected.out_dtype = DType::bfloat16;
  expected.layout = Layout::channels_last;
  expected.contract = Contract::tf32;
  expected.tie_rule = TieRule::even;
  expected.residual = true;
  expected.activation = Activation::leaky_relu;
  expected.negative_slope = 0.25;
  expected.dynamic_batch = true;
  expected.dynamic_input = {false, true, false};
  EXPECT_EQ(problem, expected);
}

TEST(Parse, ReadsTheOtherKindsInTheirOwnOrder) {
  Problem transposed;
  transposed.kind = Kind::transposed;
  transposed.batch = 2;
  transposed.in_channels = 4;
  transposed.out_channels = 6;
  transposed.input = {9, 8, 1};
  transposed.kernel = {3, 5, 1};
  transposed.stride = {2, 3, 1};
  transposed.padding_lo = transposed.padding_hi = {1, 2, 0};
  transposed.output_padding = {1, 0, 0};
  transposed.groups = 2;
  transposed.bias = false;
  transposed.dilation = {4, 1, 1};
  EXPECT_EQ(parse_problem("ConvTranspose2d(4, 6, (3, 5), (2, 3), (1, 2), (1, 0), 2, False, (4, 1), 'zeros') @ 2x4x9x8"),
            transposed);
  EXPECT_EQ(parse_problem("nn.ConvTranspose2d(4, 6, (3, 5), stride=(2, 3), padding=(1, 2), output_padding=(1, 0), "
                          "groups=2, bias=False, dilation=(4, 1)) @ (2, 4, 9, 8)"),
            transposed);

  Problem separable;
  separable.kind = Kind::depthwise_separable;
  separable.rank = 1;
  separable.in_channels = 4;
  separable.out_channels = 6;
  separable.input = {9, 1, 1};
  separable.kernel = {3, 1, 1};
  separable.stride = {2, 1, 1};
  separable.padding_lo = separable.padding_hi = {1, 0, 0};
  separable.dilation = {3, 1, 1};
  separable.bias = false;
  separable.depth_multiplier = 5;
  separable.padding_mode = PaddingMode::circular;
  EXPECT_EQ(parse_problem("DepthwiseSeparable1d(4, 6, 3, 2, 1, 3, False, depth_multiplier=5, padding_mode=circular) @ "
                          "1x4x9"),
            separable);
}

TEST(Parse, AcceptsPythonsWaysOfWriting) {
  const std::string expected = "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256";
  for (const char* text : {
           "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256",
           "nn.Conv2d(64,128,(5,7),bias=False,math='tf32')@8x64x512x256",
           "torch.nn.Conv2d(64, 128, [5, 7], bias=false, math=\"tf32\") @ (8, 64, 512, 256)",
           "Conv2d(64, 128, (5, 7,), 1, 0, 1, 1, False, 'zeros', math=tf32, rounding='rna',) @ [8, 64, 512, 256,]",
           "Conv2d(math=tf32, bias=False, kernel_size=(5, 7), out_channels=128, in_channels=64) @ 8x64x512x256",
           " \t\n torch . nn . Conv2d ( 64 , 128 , ( 5 , 7 ) , bias = False , math = 'tf32' ) @ 8 x 64 x 512 x 256 ",
           "Conv2d(64, 128, (5, 7), (1), (0, 0), padding_mode='zeros', bias=False, math=tf32) @ 8x64x512x256",
           "Conv2d(64, 128, (5, 7), padding='valid', bias=False, math=tf32) @ 8x64x512x256",
           "Conv2d(64, 128, (5, 7), padding=valid, bias=False, math=tf32, padding_mode=zeros) @ 0008x64x512x256",
           "Conv2d(64, 128, (5, 7), padding=((0, 0), [0, 0,]), bias=False, math=tf32) @ 8x64x512x256",
           "Conv2d(64, 128, (5, 7), bias=False, math=tf32, dtype=torch.float32, residual=False) @ 8x64x512x256",
           "kb56",
           " kb56 ( ) ",
           "kb56(bias=False, rounding=rna) @ 8x64x512x256",
       }) {
    EXPECT_EQ(canonical(text), expected) << text;
  }
  EXPECT_EQ(canonical("Conv1d(4, 4, (3,)) @ 1x4x9"), "Conv1d(4, 4, 3) @ 1x4x9");
  EXPECT_EQ(canonical("Conv3d(4, 4, (3)) @ 1x4x9x9x9"), "Conv3d(4, 4, 3) @ 1x4x9x9x9");
  EXPECT_EQ(canonical("Conv1d(4, 4, 3, padding=[(2, 0)]) @ (1?, 4, 9 ?)"),
            "Conv1d(4, 4, 3, padding=((2, 0),)) @ 1?x4x9?");
  EXPECT_EQ(canonical("Conv2d(4, 4, 3, padding=(1, (0, 2))) @ 1x4x9x9"),
            "Conv2d(4, 4, 3, padding=((1, 1), (0, 2))) @ 1x4x9x9");
}

TEST(Parse, KnowsTheTypesByAllTheirNames) {
  const auto dtype = [](const std::string& word) { return parse_problem("kb56(dtype=" + word + ")").dtype; };
  for (const char* word : {"float32", "'float32'", "torch.float32", "float", "torch.float", "f32"})
    EXPECT_EQ(dtype(word), DType::float32) << word;
  for (const char* word : {"float16", "torch.half", "half", "f16", "'torch.float16'"})
    EXPECT_EQ(dtype(word), DType::float16) << word;
  for (const char* word : {"bfloat16", "torch.bfloat16", "bf16", "torch . bfloat16"})
    EXPECT_EQ(dtype(word), DType::bfloat16) << word;
  for (const char* word : {"float64", "torch.double", "double", "f64"}) EXPECT_EQ(dtype(word), DType::float64) << word;
}

TEST(Parse, KnowsTheLayoutsByAllTheirNames) {
  for (const char* argument : {"layout=channels_last", "memory_format=torch.channels_last", "layout='channels_last'",
                               "memory_format=torch.channels_last_3d"}) {
    const std::string text = std::string("Conv3d(4, 4, 1, ") + argument + ") @ 1x4x9x9x9";
    EXPECT_EQ(parse_problem(text).layout, Layout::channels_last) << text;
  }
  for (const char* argument : {"layout=contiguous", "memory_format=torch.contiguous_format"}) {
    const std::string text = std::string("Conv1d(4, 4, 1, ") + argument + ") @ 1x4x9";
    EXPECT_EQ(parse_problem(text).layout, Layout::contiguous) << text;
  }
}

TEST(Parse, OutputTypeAndContractFollowTheType) {
  for (const DType dtype : all_dtypes) {
    const Problem problem = parse_problem("Conv1d(4, 4, 1, dtype=" + std::string(name(dtype)) + ") @ 1x4x9");
    EXPECT_EQ(problem.dtype, dtype);
    EXPECT_EQ(problem.out_dtype, dtype);
    EXPECT_EQ(problem.contract, default_contract(dtype));
  }
  const Problem given = parse_problem("Conv1d(4, 4, 1, math=ieee, out_dtype=float32, dtype=half) @ 1x4x9");
  EXPECT_EQ(given.out_dtype, DType::float32);
  EXPECT_EQ(given.contract, Contract::ieee);
}

TEST(Parse, NamedProblemsMayBeVaried) {
  EXPECT_EQ(canonical("kb56(math=fp32)"), "Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256");
  EXPECT_EQ(canonical("kb56 @ 1x64x512x257"), "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 1x64x512x257");
  EXPECT_EQ(canonical("kb56 @ 1?x64x512x257?"), "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 1?x64x512x257?");
  EXPECT_EQ(canonical("kb56(math=ieee, bias=True) @ (2, 64, 5, 7)"), "Conv2d(64, 128, (5, 7), math=ieee) @ 2x64x5x7");
  EXPECT_EQ(canonical("kb56(dtype=bfloat16)"), "Conv2d(64, 128, (5, 7), bias=False, dtype=bfloat16) @ 8x64x512x256");
  EXPECT_EQ(canonical("kb56(dtype=float32)"), canonical("kb56"));
  EXPECT_EQ(canonical("kb56(dtype=half, math=fp32, out_dtype=float, layout=channels_last, residual=True, "
                      "activation=leaky_relu, negative_slope=0.1)"),
            "Conv2d(64, 128, (5, 7), bias=False, dtype=float16, out_dtype=float32, layout=channels_last, math=fp32, "
            "residual=True, activation=leaky_relu, negative_slope=0.1) @ 8x64x512x256");
  EXPECT_EQ(canonical("kb86 @ 1x64x9x9"),
            "DepthwiseSeparable2d(64, 128, 3, padding=1, bias=False, math=tf32) @ 1x64x9x9");
  // The rounding of TF32 goes when TF32 goes.
  EXPECT_EQ(canonical("kb87(rounding=rna)").find("rounding"), std::string::npos);
  EXPECT_NE(canonical("kb87").find("rounding=rn)"), std::string::npos);
  EXPECT_EQ(canonical("kb87(math=fp32)"), "Conv2d(64, 128, 1, bias=False) @ 16x64x1024x1024");
  EXPECT_EQ(canonical("kb87(dtype=bf16)"), "Conv2d(64, 128, 1, bias=False, dtype=bfloat16) @ 16x64x1024x1024");
  EXPECT_THROW((void)parse_problem("kb87(math=fp32, rounding=rn)"), SpellingError);
}

TEST(Parse, SamePaddingPutsTheExtraPositionLast) {
  for (const std::string mode : {"zeros", "reflect", "replicate", "circular"}) {
    const Problem problem =
        parse_problem("Conv2d(4, 4, (4, 3), padding='same', dilation=(3, 2), padding_mode=" + mode + ") @ 1x4x20x9");
    EXPECT_EQ(problem.padding_lo, (Extent{4, 2, 0}));
    EXPECT_EQ(problem.padding_hi, (Extent{5, 2, 0}));
    EXPECT_EQ(output_extent(problem), (Extent{20, 9, 1}));
  }
  // The words after 'same' count too.
  EXPECT_EQ(parse_problem("Conv1d(4, 4, padding=same, kernel_size=5) @ 1x4x9").padding_lo[0], 2);
  EXPECT_EQ(parse_problem("DepthwiseSeparable1d(4, 4, 4, padding=same) @ 1x4x9").padding_hi[0], 2);
}

TEST(Spell, IsCanonical) {
  for (const std::string text : {
           "Conv1d(1, 1, 1) @ 1x1x1",
           "Conv2d(3, 8, 3, stride=2, padding=(1, 0), dilation=(1, 2)) @ 1x3x17x19",
           "Conv2d(6, 12, 3, groups=3, math=ieee) @ 4x6x10x10",
           "Conv3d(6, 12, (3, 3, 1), padding=1, bias=False, math=tf32, rounding=rn) @ 4x6x10x10x10",
           "Conv1d(4, 4, 4, padding='same', dilation=3) @ 1x4x9",
           "Conv1d(4, 4, 4, stride=2, padding=((1, 2),)) @ 1x4x9",
           "Conv2d(4, 4, 4, padding=((1, 2), (2, 1))) @ 1x4x9x9",
           "Conv2d(4, 4, 2, padding=(-1, 3)) @ 1x4x9x9",
           "Conv3d(4, 4, 3, padding=((2, 0), (1, 1), (-1, -2))) @ 1?x4x9x9?x9",
           "Conv2d(4, 4, 3, padding=1, padding_mode='reflect', residual=True, activation=gelu_tanh) @ 1x4x9x9",
           "Conv2d(4, 4, 3, dtype=bfloat16, out_dtype=float32, layout=channels_last, math=ieee) @ 1x4x9x9",
           "Conv2d(4, 4, 3, dtype=float64, activation=leaky_relu, negative_slope=0.2) @ 1x4x9x9",
           "ConvTranspose1d(4, 4, 4, padding=((1, 2),)) @ 1x4x9",
           "ConvTranspose2d(4, 8, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False, dilation=2) @ "
           "1x4x9x9",
           "ConvTranspose3d(4, 8, 3, output_padding=(0, 1, 0), dilation=(1, 2, 1)) @ 1x4x9x9x9",
           "DepthwiseSeparable2d(4, 8, 3, bias=False, padding_mode='circular', depth_multiplier=2) @ 1x4x9x9",
           "DepthwiseSeparable3d(4, 8, 2, padding='same') @ 1x4x9x9x9",
       }) {
    EXPECT_EQ(canonical(text), text);
  }
  EXPECT_EQ(canonical("Conv1d(4, 4, 3, padding='same') @ 1x4x9"), "Conv1d(4, 4, 3, padding=1) @ 1x4x9");
  EXPECT_EQ(canonical("Conv1d(4, 4, 4, padding=((1, 2),)) @ 1x4x9"), "Conv1d(4, 4, 4, padding='same') @ 1x4x9");
}

/// Expects that the canonical spelling of a valid problem means that problem.
void expect_round_trip(const Problem& problem) {
  const std::string text = spell(problem);
  const Problem read = parse_problem(text);
  ASSERT_EQ(read, problem) << text;
  ASSERT_EQ(std::signbit(read.negative_slope), std::signbit(problem.negative_slope)) << text;
  ASSERT_EQ(spell(read), text);
}

TEST(Spell, ParsesBackToTheSameProblem) {
  for (std::uint64_t seed = 0; seed < 10000; ++seed) expect_round_trip(testing::any_random_problem(seed));
  for (const PublishedProblem& published : published_problems()) {
    EXPECT_EQ(parse_problem(published.name), published.problem);
    expect_round_trip(published.problem);
  }
}

TEST(Spell, ParsesExtremeValuesBack) {
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const Problem problem = testing::extreme_problem(seed);
    if (find_violation(problem)) continue;
    ++valid;
    expect_round_trip(problem);
  }
  EXPECT_GT(valid, 2000);
}

TEST(Spell, KeepsEveryBitOfTheSlope) {
  Problem problem;
  problem.activation = Activation::leaky_relu;
  using Limits = std::numeric_limits<double>;
  for (const double slope : {0.0, -0.0, 0.1, 1.0 / 3, 1e22, -1e23, 123456789012345680.0, Limits::min(), Limits::max(),
                             Limits::lowest(), Limits::denorm_min(), -Limits::denorm_min(), 1 + Limits::epsilon()}) {
    problem.negative_slope = slope;
    expect_round_trip(problem);
  }
}

}  // namespace
}  // namespace tapconv
