#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "random_problem.hpp"
#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// The message, or "valid".
std::string refusal(std::string_view text) {
  try {
    (void)parse_problem(text);
  } catch (const SpellingError& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_LE(error.position(), text.size());
    return error.what();
  }
  return "valid";
}

constexpr std::string_view keywords =
    "in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, math, rounding, padding_mode";
constexpr std::string_view everything =
    "Conv1d, Conv2d, Conv3d, or a published problem (kb50, kb54, kb55, kb56, kb59, kb60, kb62, kb63, kb66, kb67, kb76, "
    "kb80, kb82, kb83, kb84, kb85, kb87)";

TEST(SpellingErrors, PointAtTheCause) {
  const std::string list(keywords);
  const std::string all(everything);
  const std::string goldens[] = {
      // The grammar.
      "unexpected end of the text; valid: Conv1d, Conv2d, Conv3d, or a published problem\n"
      "  \n"
      "  ^",
      "unexpected end of the text; valid: '('\n"
      "  Conv2d\n"
      "        ^",
      "unexpected end of the text; valid: ',' or ')'\n"
      "  Conv2d(4, 4, 3\n"
      "                ^",
      "unexpected end of the text; valid: '@' and the shape of the input\n"
      "  Conv2d(4, 4, 3)\n"
      "                 ^",
      "unexpected 'h'; valid: the end of the text\n"
      "  Conv2d(4, 4, 3) @ 1x4x9x9 hello\n"
      "                            ^",
      "unexpected ']'; valid: ',' or ')'\n"
      "  Conv2d(4, 4, (3, 3]) @ 1x4x9x9\n"
      "                    ^",
      "unexpected module of torch; valid: 'nn.' after 'torch.'\n"
      "  torch.Conv2d(4, 4, 3) @ 1x4x9x9\n"
      "        ^",
      "' opens a word that does not end; valid: a closing '\n"
      "  Conv2d(4, 4, 3, math='tf32) @ 1x4x9x9\n"
      "                       ^",
      // Names of layers and problems.
      "ConvTranspose2d is not supported in this version; valid: " + all +
          "\n"
          "  ConvTranspose2d(4, 4, 3) @ 1x4x9x9\n"
          "  ^",
      "Conv4d is not a layer or published problem (did you mean 'Conv1d'?); valid: " + all +
          "\n"
          "  Conv4d(4, 4, 3) @ 1x4x9x9\n"
          "  ^",
      "Linear is not a layer or published problem; valid: " + all +
          "\n"
          "  Linear(4, 4)\n"
          "  ^",
      "nn.ConvTranspose1d is not supported in this version; valid: Conv1d, Conv2d, Conv3d\n"
      "  torch.nn.ConvTranspose1d(4, 4, 3) @ 1x4x9\n"
      "           ^",
      "kb86x is not a layer or published problem (did you mean 'kb56'?); valid: " + all +
          "\n"
          "  kb86x\n"
          "  ^",
      "kb57 is a published conv_transpose, which is not supported in this version; valid: " + all +
          "\n"
          "  kb57(math=fp32)\n"
          "  ^",
      // Arguments.
      "kernel_size is missing; valid: Conv2d(in_channels, out_channels, kernel_size, ...)\n"
      "  Conv2d(4, 4) @ 1x4x9x9\n"
      "             ^",
      "out_channels is missing; valid: Conv2d(in_channels, out_channels, kernel_size, ...)\n"
      "  Conv2d(4, kernel_size=3, ) @ 1x4x9x9\n"
      "                           ^",
      "a value without a keyword follows one with a keyword; valid: keyword=value for " + list +
          "\n"
          "  Conv2d(4, 4, kernel_size=3, 4) @ 1x4x9x9\n"
          "                              ^",
      "too many values without a keyword; valid: keyword=value for " + list +
          "\n"
          "  Conv2d(4, 4, 3, 1, 0, 1, 1, True, 'zeros') @ 1x4x9x9\n"
          "                                    ^",
      "kernel_size is given twice; valid: once\n"
      "  Conv2d(4, 4, 3, kernel_size=3) @ 1x4x9x9\n"
      "                  ^",
      "strid is not an argument of Conv2d (did you mean 'stride'?); valid: " + list +
          "\n"
          "  Conv2d(4, 4, 3, strid=2) @ 1x4x9x9\n"
          "                  ^",
      "kernel is not an argument of Conv2d (did you mean 'kernel_size'?); valid: " + list +
          "\n"
          "  Conv2d(4, 4, kernel=3) @ 1x4x9x9\n"
          "               ^",
      "dtype is not supported in this version; valid: " + list +
          "\n"
          "  Conv2d(4, 4, 3, dtype=torch.float32) @ 1x4x9x9\n"
          "                  ^",
      "padding_mode = reflect is not supported in this version; valid: zeros\n"
      "  Conv2d(4, 4, 3, padding_mode='reflect') @ 1x4x9x9\n"
      "                               ^",
      "math = fp16 is not supported in this version (did you mean 'fp32'?); valid: ieee, fp32, tf32\n"
      "  Conv2d(4, 4, 3, math=fp16) @ 1x4x9x9\n"
      "                       ^",
      "bias = 1 is not a truth value; valid: True, False, true, false\n"
      "  Conv2d(4, 4, 3, bias=1) @ 1x4x9x9\n"
      "                       ^",
      "stride is not an argument of kb56; valid: math, rounding, bias\n"
      "  kb56(stride=2)\n"
      "       ^",
      "a value without a keyword follows a published name; valid: keyword=value for math, rounding, bias\n"
      "  kb56(2)\n"
      "       ^",
      // Numbers and tuples.
      "kernel_size = 3.5 is not a whole number; valid: a number, or 2 of them in parentheses\n"
      "  Conv2d(4, 4, 3.5) @ 1x4x9x9\n"
      "               ^",
      "groups = None is not a whole number; valid: a whole number\n"
      "  Conv2d(4, 4, 3, groups=None) @ 1x4x9x9\n"
      "                         ^",
      "in_channels = 9223372036854775808 is too large; valid: at most 9223372036854775807\n"
      "  Conv2d(9223372036854775808, 4, 3) @ 1x4x9x9\n"
      "         ^",
      "stride is missing a number; valid: a number, or 2 of them in parentheses\n"
      "  Conv2d(4, 4, 3,, 1) @ 1x4x9x9\n"
      "                 ^",
      "kernel_size is missing a number; valid: a number, or 2 of them in parentheses\n"
      "  Conv2d(4, 4, ((3, 3), 3)) @ 1x4x9x9\n"
      "                ^",
      "kernel_size is missing a number; valid: a number, or 2 of them in parentheses\n"
      "  Conv2d(4, 4, ()) @ 1x4x9x9\n"
      "                ^",
      "kernel_size is a tuple of 1; valid for Conv2d: a number, or 2 of them in parentheses\n"
      "  Conv2d(4, 4, (3,)) @ 1x4x9x9\n"
      "               ^",
      "stride is a tuple of 2; valid for Conv1d: a number\n"
      "  Conv1d(4, 4, 3, stride=(3, 1)) @ 1x4x9\n"
      "                         ^",
      "kernel_size is a tuple of more than 3; valid for Conv3d: a number, or 3 of them in parentheses\n"
      "  Conv3d(4, 4, (3, 3, 3, 3, 3)) @ 1x4x9x9x9\n"
      "               ^",
      "padding = reflect is not supported; valid: a number, 2 of them, 'same' or 'valid'\n"
      "  Conv2d(4, 4, 3, padding='reflect') @ 1x4x9x9\n"
      "                          ^",
      "padding = 'same' with stride = (1, 2); valid: 'same' with stride = 1, or numbers\n"
      "  Conv2d(4, 4, 3, padding='same', stride=(1, 2)) @ 1x4x9x9\n"
      "                          ^",
      // The shape.
      "the shape has only 3 of 4 sizes; valid for Conv2d: NxCxHxW\n"
      "  Conv2d(4, 4, 3) @ 1x4x9\n"
      "                    ^",
      "the shape has more than 3 sizes; valid for Conv1d: NxCxW\n"
      "  Conv1d(4, 4, 3) @ 1x4x9x9\n"
      "                    ^",
      "unexpected 'X'; valid: 'x' in NxCxDxHxW\n"
      "  Conv3d(4, 4, 3) @ 1X4x9x9x9\n"
      "                     ^",
      "shape is missing a number; valid: NxCxHxW\n"
      "  Conv2d(4, 4, 3) @ 1x4x9x\n"
      "                          ^",
      "unexpected end of the text; valid: ',' or ')'\n"
      "  Conv2d(4, 4, 3) @ (1, 4, 9, 9\n"
      "                               ^",
      "the shape has C = 5; valid: in_channels = 4\n"
      "  Conv2d(4, 4, 3) @ 1x5x9x9\n"
      "                      ^",
      // What validate() refuses.
      "batch = 0; valid: 1 or more\n"
      "  Conv2d(4, 4, 3) @ 0x4x9x9\n"
      "                    ^",
      "input = 0 on axis W; valid: 1 or more\n"
      "  Conv2d(4, 4, 3) @ (1, 4, 9, 0)\n"
      "                              ^",
      "stride = 0 on axis W; valid: 1 or more\n"
      "  Conv2d(4, 4, 3, stride=(1, 0)) @ 1x4x9x9\n"
      "                             ^",
      "padding = -1 on axis H; valid: 0 or more\n"
      "  Conv2d(4, 4, 3, 1, -1) @ 1x4x9x9\n"
      "                     ^",
      "groups = 3 does not divide in_channels = 64; valid: a common divisor of in_channels and out_channels "
      "(1, 2, 4, 8, ..., 64)\n"
      "  Conv2d(64, 128, 3, groups=3) @ 1x64x9x9\n"
      "                            ^",
      "kernel_size = 7 with dilation = 2 spans 13 positions on axis W; valid: at most 9, the padded input\n"
      "  Conv2d(4, 4, (3, 7), dilation=2) @ 1x4x9x9\n"
      "                   ^",
      "kernel_size = 7 with dilation = 1 spans 7 positions on axis W; valid: at most 6, the padded input\n"
      "  kb56 @ 1x64x5x6\n"
      "                ^",
      "dilation = 3 with kernel_size = 9223372036854775807 on axis H is too large; valid: dilation * (kernel_size - 1) "
      "below 9223372036854775807\n"
      "  Conv2d(4, 4, 9223372036854775807, dilation=3) @ 1x4x9x9\n"
      "                                             ^",
  };
  for (const std::string& golden : goldens) {
    const std::size_t start = golden.find('\n') + 3;
    EXPECT_EQ(refusal(golden.substr(start, golden.find('\n', start) - start)), golden);
  }
}

TEST(SpellingErrors, ShowEveryByteAsOneColumn) {
  EXPECT_EQ(refusal(std::string_view("\tkb56\n\0", 7)),
            "unexpected '?'; valid: the end of the text\n"
            "   kb56 ?\n"
            "        ^");
  EXPECT_EQ(refusal("kb56(math='t\xc3\xa4\x1b[31mf')"),
            "math = t???[31mf is not supported in this version; valid: ieee, fp32, tf32\n"
            "  kb56(math='t???[31mf')\n"
            "            ^");
}

TEST(SpellingErrors, ShowLongTextsThroughAWindow) {
  const std::string spaces(300, ' ');
  EXPECT_EQ(refusal("kb56" + spaces + "?" + spaces), "unexpected '?'; valid: the end of the text\n  ..." +
                                                         std::string(50, ' ') + "?" + std::string(49, ' ') + "...\n  " +
                                                         std::string(53, ' ') + "^");
  EXPECT_EQ(refusal(spaces),
            "unexpected end of the text; valid: Conv1d, Conv2d, Conv3d, or a published problem\n  ..." +
                std::string(100, ' ') + "\n  " + std::string(103, ' ') + "^");
  EXPECT_EQ(refusal("!" + spaces), "unexpected '!'; valid: Conv1d, Conv2d, Conv3d, or a published problem\n  !" +
                                       std::string(99, ' ') + "...\n  ^");
  EXPECT_EQ(SpellingError("message", "text", 99).position(), 4U);
}

TEST(SpellingErrors, HugeTextsCostLittle) {
  constexpr std::size_t size = 4'000'000;
  const auto repeat = [](std::string_view part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text : {
           repeat("("),
           repeat("["),
           repeat("a"),
           repeat("'"),
           repeat(" "),
           repeat("nn."),
           std::string(size, '\0'),
           "Conv2d(" + repeat("("),
           "Conv2d(4, 4, (" + repeat("3,"),
           "Conv2d(4, 4, " + repeat("["),
           "Conv2d(" + repeat("9"),
           "Conv2d(" + repeat("-"),
           "Conv2d(" + repeat("0"),
           "Conv2d(4, 4, 3, " + repeat("a") + "=1)",
           "Conv2d(4, 4, 3, math='" + repeat("x") + "')",
           "Conv2d(4, 4, 3, math='" + repeat("x"),
           "kb56(" + repeat(","),
           "kb56 @ " + repeat("1x"),
           "kb56 @ (" + repeat("1,"),
           "Conv2d(" + repeat("4, "),
           "Conv2d(4, 4, 3" + repeat(" ") + "!",
       }) {
    const std::string message = refusal(text);
    EXPECT_NE(message, "valid");
    EXPECT_LT(message.size(), 1000U) << text.substr(0, 40);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

/// Checks that a text is either refused with a caret that fits it or means a valid problem with one canonical spelling.
void expect_sane(const std::string& text) {
  try {
    const Problem problem = parse_problem(text);
    validate(problem);
    EXPECT_EQ(parse_problem(spell(problem)), problem) << text;
  } catch (const SpellingError& error) {
    const std::string what = error.what();
    EXPECT_LE(error.position(), text.size());
    EXPECT_EQ(std::ranges::count(what, '\n'), 2) << what;
    EXPECT_TRUE(std::ranges::all_of(what, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << what;
  }
}

TEST(SpellingErrors, RandomDamageIsNeverFatal) {
  const std::string alphabet = std::string("()[],=@x.'\"-0123456789 \tConvdkbTF\xff") + '\0';
  std::mt19937_64 generator(1);
  const auto below = [&](std::size_t bound) { return generator() % bound; };
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    std::string text = seed % 3 == 0 ? "kb56(math=fp32, bias=True) @ 1x64x51x25" : spell(testing::random_problem(seed));
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t position = below(text.size());
      switch (below(4)) {
        case 0:
          text.erase(position, 1 + below(3));
          break;
        case 1:
          text.insert(position, 1, alphabet[below(alphabet.size())]);
          break;
        case 2:
          text[position] = alphabet[below(alphabet.size())];
          break;
        default:
          text.insert(position, text.substr(below(text.size()), below(12)));
      }
    }
    expect_sane(text);
  }
}

TEST(SpellingErrors, EveryPrefixIsRefused) {
  const std::string text = "torch.nn.Conv2d(4, 8, (3, 1), padding='same', bias=True, math='tf32') @ (1, 4, 9, 9)";
  ASSERT_EQ(refusal(text), "valid");
  for (std::size_t size = 0; size < text.size(); ++size) EXPECT_NE(refusal(text.substr(0, size)), "valid") << size;
}

}  // namespace
}  // namespace tapconv
