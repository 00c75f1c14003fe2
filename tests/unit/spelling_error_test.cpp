#include <gtest/gtest.h>

#include <string>

#include "spelling_refusal.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::refusal;

constexpr std::string_view keywords =
    "in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype, out_dtype, "
    "layout, math, rounding, residual, activation, negative_slope";
constexpr std::string_view variations =
    "bias, dtype, out_dtype, layout, math, rounding, residual, activation, negative_slope";
constexpr std::string_view everything =
    "Conv1d/2d/3d, ConvTranspose1d/2d/3d, DepthwiseSeparable1d/2d/3d, or a named problem ('tapconv problems' lists "
    "them)";
constexpr std::string_view layers =
    "Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, DepthwiseSeparable1d, "
    "DepthwiseSeparable2d, DepthwiseSeparable3d";

TEST(SpellingErrors, PointAtTheCause) {
  const std::string list(keywords), varied(variations), all(everything), modules(layers);
  const std::string goldens[] = {
      // The grammar.
      "unexpected end of the text; valid: " + all +
          "\n"
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
      "Conv4d is not a layer or a named problem (did you mean 'Conv1d'?); valid: " + all +
          "\n"
          "  Conv4d(4, 4, 3) @ 1x4x9x9\n"
          "  ^",
      "ConvTransposed2d is not a layer or a named problem (did you mean 'ConvTranspose2d'?); valid: " + all +
          "\n"
          "  ConvTransposed2d(4, 4, 3) @ 1x4x9x9\n"
          "  ^",
      "Linear is not a layer or a named problem; valid: " + all +
          "\n"
          "  Linear(4, 4)\n"
          "  ^",
      "nn.LazyConv1d is not supported (did you mean 'Conv1d'?); valid: " + modules +
          "\n"
          "  torch.nn.LazyConv1d(4, 4, 3) @ 1x4x9\n"
          "           ^",
      "kb86x is not a layer or a named problem (did you mean 'kb86'?); valid: " + all +
          "\n"
          "  kb86x\n"
          "  ^",
      "resnet5/conv-1.b is not a layer or a named problem (did you mean 'resnet50/conv1'?); valid: " + all +
          "\n"
          "   resnet5/conv-1.b(math=fp32)\n"
          "   ^",
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
          "  Conv2d(4, 4, 3, 1, 0, 1, 1, True, 'zeros', 0) @ 1x4x9x9\n"
          "                                             ^",
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
      "device is not an argument of Conv2d: where to compute is said by --device, not by the problem; valid: " + list +
          "\n"
          "  Conv2d(4, 4, 3, device='cuda') @ 1x4x9x9\n"
          "                  ^",
      "dynamic is not an argument of Conv2d: dynamic sizes are marked in the shape, as in 8?x64x512x256; valid: " +
          list +
          "\n"
          "  Conv2d(4, 4, 3, dynamic=True) @ 1x4x9x9\n"
          "                  ^",
      "output_padding is not an argument of Conv2d (did you mean 'padding'?); valid: " + list +
          "\n"
          "  Conv2d(4, 4, 3, output_padding=1) @ 1x4x9x9\n"
          "                  ^",
      "padding_mode = constant is unknown; valid: zeros, reflect, replicate, circular\n"
      "  Conv2d(4, 4, 3, padding_mode='constant') @ 1x4x9x9\n"
      "                               ^",
      "math = fp8 is unknown (did you mean 'fp32'?); valid: ieee, fp32, tf32, fp16, bf16, fp64\n"
      "  Conv2d(4, 4, 3, math=fp8) @ 1x4x9x9\n"
      "                       ^",
      "rounding = rz is unknown (did you mean 'rn'?); valid: rna, rn\n"
      "  Conv2d(4, 4, 3, rounding=rz) @ 1x4x9x9\n"
      "                           ^",
      "dtype = float8 is unknown (did you mean 'float'?); valid: float32, float16, bfloat16, float64\n"
      "  Conv2d(4, 4, 3, dtype=torch.float8) @ 1x4x9x9\n"
      "                        ^",
      "out_dtype = 16 is unknown; valid: float32, float16, bfloat16, float64\n"
      "  Conv2d(4, 4, 3, out_dtype=16) @ 1x4x9x9\n"
      "                            ^",
      "layout = channels_last_3d is unknown (did you mean 'channels_last'?); valid: contiguous, channels_last\n"
      "  Conv2d(4, 4, 3, memory_format=torch.channels_last_3d) @ 1x4x9x9\n"
      "                                ^",
      "activation = swish is unknown; valid: none, relu, leaky_relu, silu, gelu, gelu_tanh\n"
      "  Conv2d(4, 4, 3, activation=swish) @ 1x4x9x9\n"
      "                             ^",
      "negative_slope = inf is not a number; valid: a finite number\n"
      "  Conv2d(4, 4, 3, negative_slope=inf) @ 1x4x9x9\n"
      "                                 ^",
      "negative_slope = 1e999 is out of range; valid: a finite number that a double can hold\n"
      "  Conv2d(4, 4, 3, negative_slope=1e999) @ 1x4x9x9\n"
      "                                 ^",
      "negative_slope = 0.1.2 is not a number; valid: a finite number\n"
      "  Conv2d(4, 4, 3, negative_slope=0.1.2) @ 1x4x9x9\n"
      "                                 ^",
      "bias = 1 is unknown; valid: True, False\n"
      "  Conv2d(4, 4, 3, bias=1) @ 1x4x9x9\n"
      "                       ^",
      "residual = yes is unknown; valid: True, False\n"
      "  Conv2d(4, 4, 3, residual=yes) @ 1x4x9x9\n"
      "                           ^",
      "stride is not an argument of kb56; valid: " + varied +
          "\n"
          "  kb56(stride=2)\n"
          "       ^",
      "a value without a keyword follows a problem's name; valid: keyword=value for " + varied +
          "\n"
          "  kb56(2)\n"
          "       ^",
      "groups is not an argument of DepthwiseSeparable1d; valid: in_channels, out_channels, kernel_size, stride, "
      "padding, dilation, bias, padding_mode, depth_multiplier, dtype, out_dtype, layout, math, rounding, residual, "
      "activation, negative_slope"
      "\n"
      "  DepthwiseSeparable1d(4, 4, 3, groups=4) @ 1x4x9\n"
      "                                ^",
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
      "padding = reflect is not possible for Conv2d; valid: a number, or 2 of them or of pairs (before, after) in "
      "parentheses; 'same', 'valid'\n"
      "  Conv2d(4, 4, 3, padding='reflect') @ 1x4x9x9\n"
      "                          ^",
      "padding = same is not possible for ConvTranspose2d; valid: a number, or 2 of them or of pairs (before, after) "
      "in parentheses\n"
      "  ConvTranspose2d(4, 4, 3, padding='same') @ 1x4x9x9\n"
      "                                   ^",
      "padding is a tuple of 2; valid for Conv1d: a number or ((before, after),); 'same', 'valid'\n"
      "  Conv1d(4, 4, 3, padding=(2, 0)) @ 1x4x9\n"
      "                          ^",
      "padding is a tuple of 1; valid for Conv1d: a number or ((before, after),); 'same', 'valid'\n"
      "  Conv1d(4, 4, 3, padding=((2, 0))) @ 1x4x9\n"
      "                          ^",
      "padding is a tuple of 1; valid for Conv2d: a number, or 2 of them or of pairs (before, after) in parentheses; "
      "'same', 'valid'\n"
      "  Conv2d(4, 4, 3, padding=((2, 0),)) @ 1x4x9x9\n"
      "                          ^",
      "unexpected ','; valid: ')' after the pair\n"
      "  Conv2d(4, 4, 3, padding=((2, 0,,), 1)) @ 1x4x9x9\n"
      "                                 ^",
      "unexpected ')'; valid: ',' and what is added after the input\n"
      "  Conv2d(4, 4, 3, padding=((2), 1)) @ 1x4x9x9\n"
      "                             ^",
      "padding is missing a number; valid: a number, or 2 of them or of pairs (before, after) in parentheses; 'same', "
      "'valid'\n"
      "  Conv2d(4, 4, 3, padding=(((2, 0), 1), 1)) @ 1x4x9x9\n"
      "                            ^",
      "padding = -9223372036854775809 is too small; valid: at least -9223372036854775808\n"
      "  Conv1d(4, 4, 3, padding=-9223372036854775809) @ 1x4x9\n"
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
      "the shape has C = 4?; valid: in_channels = 4\n"
      "  Conv2d(4, 4, 3) @ 1?x4?x9x9\n"
      "                       ^",
      "the shape has a dynamic size without a number; valid: a likely one before it, 64?\n"
      "  Conv2d(4, 4, 3) @ 1x4x?x9\n"
      "                        ^",
      "unexpected '?'; valid: 'x' in NxCxHxW\n"
      "  Conv2d(4, 4, 3) @ 1??x4x9x9\n"
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
      "padding = -4 and -5 on axis W crops more than the input of 9 has; valid: padding that leaves a position of the "
      "input\n"
      "  Conv2d(4, 4, 3, padding=(0, (-4, -5))) @ 1x4x9x9\n"
      "                              ^",
      "padding = 9 with padding_mode = reflect on axis H; valid: at most 8, one less than the input\n"
      "  Conv2d(4, 4, 3, padding=(9, 1), padding_mode=reflect) @ 1x4x9x9\n"
      "                           ^",
      "padding_mode = reflect for a transposed convolution; valid: zeros\n"
      "  ConvTranspose2d(4, 4, 3, padding_mode=reflect) @ 1x4x9x9\n"
      "                                        ^",
      "output_padding = 2 on axis W; valid: 0 or more, less than stride = 2 or dilation = 1\n"
      "  ConvTranspose2d(4, 4, 3, 2, 0, (1, 2)) @ 1x4x9x9\n"
      "                                     ^",
      "math = tf32 with dtype = float16; valid: ieee, fp32, fp16\n"
      "  kb56(dtype=float16, math=tf32)\n"
      "                           ^",
      "rounding = rn with math = fp32; valid: with math = tf32 alone\n"
      "  Conv1d(4, 4, 1, rounding=rn) @ 1x4x9\n"
      "                           ^",
      "out_dtype = float32 with dtype = float64; valid: float64 for both or for none\n"
      "  Conv1d(4, 4, 1, dtype=double, out_dtype=float) @ 1x4x9\n"
      "                                          ^",
      "negative_slope = 0.5 with activation = relu; valid: with activation = leaky_relu alone\n"
      "  Conv1d(4, 4, 1, activation=relu, negative_slope=0.5) @ 1x4x9\n"
      "                                                  ^",
      "depth_multiplier = 0; valid: 1 or more\n"
      "  DepthwiseSeparable1d(4, 4, 1, depth_multiplier=0) @ 1x4x9\n"
      "                                                 ^",
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
            "math = t???[31mf is unknown; valid: ieee, fp32, tf32, fp16, bf16, fp64\n"
            "  kb56(math='t???[31mf')\n"
            "            ^");
}

TEST(SpellingErrors, ShowLongTextsThroughAWindow) {
  const std::string spaces(300, ' ');
  EXPECT_EQ(refusal("kb56" + spaces + "?" + spaces), "unexpected '?'; valid: the end of the text\n  ..." +
                                                         std::string(50, ' ') + "?" + std::string(49, ' ') + "...\n  " +
                                                         std::string(53, ' ') + "^");
  EXPECT_EQ(refusal(spaces), "unexpected end of the text; valid: " + std::string(everything) + "\n  ..." +
                                 std::string(100, ' ') + "\n  " + std::string(103, ' ') + "^");
  EXPECT_EQ(refusal("!" + spaces),
            "unexpected '!'; valid: " + std::string(everything) + "\n  !" + std::string(99, ' ') + "...\n  ^");
  EXPECT_EQ(SpellingError("message", "text", 99).position(), 4U);
}

}  // namespace
}  // namespace tapconv
