#include <gtest/gtest.h>

#include "random_problem.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

std::string canonical(std::string_view text) { return spell(parse_problem(text)); }

TEST(Parse, ReadsEveryField) {
  const Problem problem = parse_problem(
      "Conv3d(6, 12, (1, 2, 3), stride=(4, 5, 6), padding=(7, 8, 9), dilation=(2, 3, 1), groups=3, bias=False, "
      "math=tf32, rounding=rn) @ 2x6x10x11x12");
  Problem expected;
  expected.rank = 3;
  expected.batch = 2;
  expected.in_channels = 6;
  expected.out_channels = 12;
  expected.input = {10, 11, 12};
  expected.kernel = {1, 2, 3};
  expected.stride = {4, 5, 6};
  expected.padding_lo = expected.padding_hi = {7, 8, 9};
  expected.dilation = {2, 3, 1};
  expected.groups = 3;
  expected.bias = false;
  expected.contract = Contract::tf32;
  expected.tie_rule = TieRule::even;
  EXPECT_EQ(problem, expected);
}

TEST(Parse, AcceptsPythonsWaysOfWriting) {
  const std::string expected = "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256";
  for (const char* text : {
           "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 8x64x512x256",
           "nn.Conv2d(64,128,(5,7),bias=False,math='tf32')@8x64x512x256",
           "torch.nn.Conv2d(64, 128, [5, 7], bias=false, math=\"tf32\") @ (8, 64, 512, 256)",
           "Conv2d(64, 128, (5, 7,), 1, 0, 1, 1, False, math=tf32, rounding='rna',) @ [8, 64, 512, 256,]",
           "Conv2d(math=tf32, bias=False, kernel_size=(5, 7), out_channels=128, in_channels=64) @ 8x64x512x256",
           " \t\n torch . nn . Conv2d ( 64 , 128 , ( 5 , 7 ) , bias = False , math = 'tf32' ) @ 8 x 64 x 512 x 256 ",
           "Conv2d(64, 128, (5, 7), (1), (0, 0), padding_mode='zeros', bias=False, math=tf32) @ 8x64x512x256",
           "Conv2d(64, 128, (5, 7), padding='valid', bias=False, math=tf32) @ 8x64x512x256",
           "Conv2d(64, 128, (5, 7), padding=valid, bias=False, math=tf32, padding_mode=zeros) @ 0008x64x512x256",
           "kb56",
           " kb56 ( ) ",
           "kb56(bias=False, rounding=rna) @ 8x64x512x256",
       }) {
    EXPECT_EQ(canonical(text), expected) << text;
  }
  EXPECT_EQ(canonical("Conv1d(4, 4, (3,)) @ 1x4x9"), "Conv1d(4, 4, 3) @ 1x4x9");
  EXPECT_EQ(canonical("Conv3d(4, 4, (3)) @ 1x4x9x9x9"), "Conv3d(4, 4, 3) @ 1x4x9x9x9");
}

TEST(Parse, PublishedNamesMayBeVaried) {
  EXPECT_EQ(canonical("kb56(math=fp32)"), "Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256");
  EXPECT_EQ(canonical("kb56 @ 1x64x512x257"), "Conv2d(64, 128, (5, 7), bias=False, math=tf32) @ 1x64x512x257");
  EXPECT_EQ(canonical("kb56(math=ieee, bias=True) @ (2, 64, 5, 7)"), "Conv2d(64, 128, (5, 7), math=ieee) @ 2x64x5x7");
  EXPECT_EQ(canonical("kb87(rounding=rna)").find("rounding"), std::string::npos);
  EXPECT_NE(canonical("kb87").find("rounding=rn)"), std::string::npos);
}

TEST(Parse, SamePaddingPutsTheExtraPositionLast) {
  const Problem problem = parse_problem("Conv2d(4, 4, (4, 3), padding='same', dilation=(3, 2)) @ 1x4x20x9");
  EXPECT_EQ(problem.padding_lo, (Extent{4, 2, 0}));
  EXPECT_EQ(problem.padding_hi, (Extent{5, 2, 0}));
  EXPECT_EQ(output_extent(problem), (Extent{20, 9, 1}));
  // The words after 'same' count too.
  EXPECT_EQ(parse_problem("Conv1d(4, 4, padding=same, kernel_size=5) @ 1x4x9").padding_lo[0], 2);
}

TEST(Spell, IsCanonical) {
  for (const std::string text : {
           "Conv1d(1, 1, 1) @ 1x1x1",
           "Conv2d(3, 8, 3, stride=2, padding=(1, 0), dilation=(1, 2)) @ 1x3x17x19",
           "Conv2d(6, 12, 3, groups=3, math=ieee) @ 4x6x10x10",
           "Conv3d(6, 12, (3, 3, 1), padding=1, bias=False, math=tf32, rounding=rn) @ 4x6x10x10x10",
           "Conv1d(4, 4, 4, padding='same', dilation=3) @ 1x4x9",
           "Conv1d(4, 4, 1, rounding=rn) @ 1x4x9",
       }) {
    EXPECT_EQ(canonical(text), text);
  }
  EXPECT_EQ(canonical("Conv1d(4, 4, 3, padding='same') @ 1x4x9"), "Conv1d(4, 4, 3, padding=1) @ 1x4x9");
}

TEST(Spell, RefusesPaddingWithoutSpelling) {
  Problem problem = parse_problem("Conv2d(4, 4, 4, padding='same') @ 1x4x9x9");
  EXPECT_NO_THROW((void)spell(problem));
  problem.stride = {2, 1, 1};
  EXPECT_THROW((void)spell(problem), Error);
  problem.stride = {1, 1, 1};
  problem.padding_hi[1] += 1;
  try {
    (void)spell(problem);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_STREQ(error.what(),
                 "padding = (1, 1) before and (2, 3) after has no spelling; valid: equal padding on both sides");
  }
}

TEST(Spell, ParsesBackToTheSameProblem) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = testing::random_problem(seed);
    const std::string text = spell(problem);
    ASSERT_EQ(parse_problem(text), problem) << text;
    ASSERT_EQ(canonical(text), text);
  }
  for (const PublishedProblem& published : published_problems()) {
    EXPECT_EQ(parse_problem(published.name), published.problem);
    EXPECT_EQ(parse_problem(spell(published.problem)), published.problem);
  }
}

}  // namespace
}  // namespace tapconv
