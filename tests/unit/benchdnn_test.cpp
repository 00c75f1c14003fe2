#include "spelling/benchdnn.hpp"

#include <gtest/gtest.h>

#include <string>

#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

/// The first line of the message, or "valid".
std::string refusal(std::string_view text) {
  try {
    (void)parse_benchdnn(text);
  } catch (const SpellingError& error) {
    EXPECT_LE(error.position(), text.size());
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
  }
  return "valid";
}

/// The part of `text` at the place of the error.
std::string place(std::string_view text) {
  try {
    (void)parse_benchdnn(text);
  } catch (const SpellingError& error) {
    return std::string(text.substr(error.position()));
  }
  return "valid";
}

Problem problem(int rank, std::int64_t batch, std::int64_t in, Extent input, std::int64_t out, Extent kernel) {
  Problem result;
  result.rank = rank;
  result.batch = batch;
  result.in_channels = in;
  result.input = input;
  result.out_channels = out;
  result.kernel = kernel;
  return result;
}

TEST(Benchdnn, ReadsPublishedDescriptors) {
  Problem conv1 = problem(2, 2, 3, {224, 224, 1}, 64, {7, 7, 1});
  conv1.stride = {2, 2, 1};
  conv1.padding_lo = {3, 3, 0};
  conv1.padding_hi = {2, 2, 0};  // implied: the last filter ends there
  EXPECT_EQ(parse_benchdnn("ic3ih224oc64oh112kh7sh2ph3n\"conv1\""), conv1);

  const Problem plain = problem(2, 8, 64, {512, 256, 1}, 128, {5, 7, 1});
  EXPECT_EQ(parse_benchdnn("mb8ic64ih512iw256oc128kh5kw7"), plain);
  EXPECT_EQ(output_extent(plain), (Extent{508, 250, 1}));

  Problem depthwise = problem(2, 20, 32, {112, 112, 1}, 32, {3, 3, 1});
  depthwise.groups = 32;
  depthwise.padding_lo = depthwise.padding_hi = {1, 1, 0};
  EXPECT_EQ(parse_benchdnn("g32mb20ic32ih112oc32kh3ph1"), depthwise);

  EXPECT_EQ(parse_benchdnn("mb1_g1ic32oc32_iw84350ow84349kw2"), problem(1, 1, 32, {84350, 1, 1}, 32, {2, 1, 1}));

  Problem dilated = problem(2, 1, 256, {80, 45, 1}, 256, {3, 3, 1});
  dilated.padding_lo = dilated.padding_hi = {3, 3, 0};
  dilated.dilation = {3, 3, 1};
  EXPECT_EQ(parse_benchdnn("mb1ic256ih80iw45oc256kh3kw3ph3pw3dh2dw2"), dilated);
}

TEST(Benchdnn, OrderAndSeparatorsAreFree) {
  const Problem expected = parse_benchdnn("g2mb3ic4ih9iw8oc6kh3kw2sh2sw1ph1pw0dh1dw0");
  EXPECT_EQ(parse_benchdnn("dw0dh1pw0ph1sw1sh2kw2kh3oc6iw8ih9ic4mb3g2"), expected);
  EXPECT_EQ(parse_benchdnn("g2_mb3_ic4ih9_iw8_oc6_kh3kw2_sh2_sw1_ph1_dh1_n"), expected);
  EXPECT_EQ(parse_benchdnn("  conv\t--reset g2mb3ic4ih9iw8oc6kh3kw2sh2ph1dh1name_with:1/2 "), expected);
  EXPECT_EQ(parse_benchdnn("./build/benchdnn --conv -v5 --mode=P g2mb3ic4ih9iw8oc6kh3kw2sh2ph1dh1"), expected);
}

TEST(Benchdnn, PromotesAnAxisGivenAlone) {
  EXPECT_EQ(parse_benchdnn("ic1oc1id5kd2sd2pd1dd1"),
            parse_benchdnn("ic1oc1id5ih5iw5kd2kh2kw2sd2sh2sw2pd1ph1pw1dd1dh1dw1"));
  EXPECT_EQ(parse_benchdnn("ic1oc1ih5kh2sh2ph1dh1"), parse_benchdnn("ic1oc1ih5iw5kh2kw2sh2sw2ph1pw1dh1dw1"));
  EXPECT_EQ(parse_benchdnn("ic1oc1iw5kw2").rank, 1);
  // Neutral numbers do not bring an axis into being.
  EXPECT_EQ(parse_benchdnn("ic1oc1iw5kw2ph0sh1dd0").rank, 1);
}

TEST(Benchdnn, DeducesPadding) {
  struct Case {
    const char* text;
    std::int64_t lo, hi, output;
  };
  const Case cases[] = {
      {"ic1oc1iw10ow10kw3", 1, 1, 10},           // 2 in all
      {"ic1oc1iw10ow10kw4", 1, 2, 10},           // 3 in all: the odd one after the input
      {"ic1oc1iw10ow7kw1", -1, -2, 7},           // -3 in all, truncated toward zero
      {"ic1oc1iw10ow7kw1pw0", 0, -3, 7},         // both given: the end is implied
      {"ic1oc1iw10ow10kw3pw2", 2, 0, 10},        //
      {"ic1oc1iw10ow12kw3pw0dw1", 0, 6, 12},     // dilation from 0
      {"ic1oc1iw224ow112kw7sw2pw3", 3, 2, 112},  // where the last filter ends
      {"ic1oc1iw2ow1kw1sw3pw1", 1, -1, 1},       // as little is cropped as leaves an input
      {"ic1oc1iw10kw3", 0, 0, 8},                // no output: no padding
      {"ic1oc1iw10kw3sw2pw1", 1, 1, 5},          //
  };
  for (const Case& c : cases) {
    const Problem found = parse_benchdnn(c.text);
    EXPECT_EQ(found.padding_lo[0], c.lo) << c.text;
    EXPECT_EQ(found.padding_hi[0], c.hi) << c.text;
    EXPECT_EQ(output_extent(found)[0], c.output) << c.text;
  }
}

TEST(Benchdnn, DeducesPaddingOfTransposed) {
  struct Case {
    const char* text;
    std::int64_t lo, hi, output;
  };
  const Case cases[] = {{"--deconv ic1oc1iw5kw3sw2", 0, 0, 11},       {"--deconv ic1oc1iw5kw3sw2pw1", 1, 1, 9},
                        {"--deconv ic1oc1iw5ow9kw3sw2", 1, 1, 9},     {"--deconv ic1oc1iw5ow10kw3sw2pw1", 1, 0, 10},
                        {"--deconv ic1oc1iw5ow10kw3sw2", 0, 1, 10},   {"--deconv ic1oc1iw5ow12kw3sw2pw0", 0, -1, 12},
                        {"deconv ic1oc1iw5ow14kw3sw2dw0", -1, -2, 14}};
  for (const Case& c : cases) {
    const Problem found = parse_benchdnn(c.text);
    EXPECT_EQ(found.kind, Kind::transposed) << c.text;
    EXPECT_EQ(found.padding_lo[0], c.lo) << c.text;
    EXPECT_EQ(found.padding_hi[0], c.hi) << c.text;
    EXPECT_EQ(found.output_padding[0], 0) << c.text;
    EXPECT_EQ(output_extent(found)[0], c.output) << c.text;
  }
}

TEST(Benchdnn, AppliesKnobs) {
  const std::string small = " mb4ic2iw5oc3kw3";
  const Problem plain = parse_benchdnn(small);
  EXPECT_TRUE(plain.bias);
  const auto with = [&](auto change) {
    Problem changed = plain;
    change(changed);
    return changed;
  };
  const auto narrow = [](DType type, Contract contract) {
    return [=](Problem& p) {
      p.dtype = p.out_dtype = type;
      p.contract = contract;
    };
  };
  const std::pair<const char*, Problem> cases[] = {
      {"--dir=FWD_B", plain},
      {"--dir=FWD_D", with([](Problem& p) { p.bias = false; })},
      {"--dir=fwd_i", with([](Problem& p) { p.bias = false; })},
      {"--dir=FWD_D --bia-dt=f32", plain},
      {"--mb=7", with([](Problem& p) { p.batch = 7; })},
      {"--mb=0", plain},
      {"--dt=f32", plain},
      {"--cfg=f32_wino", plain},
      {"--dt=f16", with(narrow(DType::float16, Contract::fp16))},
      {"--cfg=f16", with(narrow(DType::float16, Contract::fp16))},
      {"--dt=bf16:bf16:bf16", with(narrow(DType::bfloat16, Contract::bf16))},
      {"--dt=f64", with(narrow(DType::float64, Contract::fp64))},
      {"--cfg=bf16bf16f32", with([](Problem& p) {
         p.dtype = DType::bfloat16;
         p.contract = Contract::bf16;
       })},
      {"--dt=f32:f32:f16", with([](Problem& p) { p.out_dtype = DType::float16; })},
      {"--stag=axb", with([](Problem& p) { p.layout = Layout::channels_last; })},
      {"--stag=axb --wtag=any --dtag=axb", with([](Problem& p) { p.layout = Layout::channels_last; })},
      {"--stag=abx --dtag=any", plain},
      {"--attr-fpmath=tf32", with([](Problem& p) { p.contract = Contract::tf32; })},
      {"--attr-fpmath=tf32 --attr-fpmath=strict", plain},
      {"--attr-post-ops=relu", with([](Problem& p) { p.activation = Activation::relu; })},
      {"--attr-post-ops=relu:0", with([](Problem& p) { p.activation = Activation::relu; })},
      {"--attr-post-ops=relu:0.25", with([](Problem& p) {
         p.activation = Activation::leaky_relu;
         p.negative_slope = 0.25;
       })},
      {"--attr-post-ops=swish:1", with([](Problem& p) { p.activation = Activation::silu; })},
      {"--attr-post-ops=gelu_erf", with([](Problem& p) { p.activation = Activation::gelu; })},
      {"--attr-post-ops=sum+gelu_tanh", with([](Problem& p) {
         p.residual = true;
         p.activation = Activation::gelu_tanh;
       })},
      {"--attr-post-ops=sum:1", with([](Problem& p) { p.residual = true; })},
      {"--attr-post-ops=sum --attr-post-ops=", plain},
      {"--deconv --dir=FWD_D --reset", with([](Problem& p) { p.kind = Kind::transposed; })},
      {"--alg=WINO --skip-impl=ref,x64:gemm --allow-enum-tags-only=0 --attr-scratchpad=user", plain},
      {"--attr-scales= --attr-zero-points= --attr-acc-mode=strict", plain},
  };
  for (const auto& [knobs, expected] : cases) EXPECT_EQ(parse_benchdnn(knobs + small), expected) << knobs;
}

TEST(Benchdnn, RefusesWhatIsNoDescriptor) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a descriptor is missing; valid: for example mb8ic64ih56oc64kh3ph1"},
      {"_ic1iw5oc1kw1", "unexpected '_' in a descriptor"},
      {"ic1__iw5oc1kw1", "unexpected '_' in a descriptor"},
      {"ic1iw5oc1kw1_", "unexpected '' in a descriptor"},
      {"ic1iw5oc1kw1xyz", "unexpected 'x' in a descriptor"},
      {"ic1iw5oc1kw", "kw is missing a number; valid: a whole number"},
      {"ic1iw5oc1kw1kw2", "kw is given twice; valid: once"},
      {"ic1iw5oc1kw-1", "kw = -1; valid: 1 or more"},
      {"ic1iw5oc1kw1pw-1", "pw = -1; valid: 0 or more"},
      {"ic1iw0oc1kw1", "iw = 0; valid: 1 or more"},
      {"ic1iw5oc1kw1sw0", "sw = 0; valid: 1 or more"},
      {"mb0ic1iw5oc1kw1", "mb = 0; valid: 1 or more"},
      {"ic1iw99999999999999999999oc1kw1", "iw = 99999999999999999999 is too large"},
      {"iw5oc1kw1", "ic is missing; valid: 1 or more"},
      {"ic1iw5kw1", "oc is missing; valid: 1 or more"},
      {"ic1oc1", "no spatial size is given"},
      {"ic1oc1iw5", "kw is missing; valid: 1 or more"},
      {"ic1oc1kw5", "iw is missing; valid: 1 or more"},
      {"ic1oc1iw5kw1sh2", "ih is missing; valid: 1 or more"},
      {"ic1oc1id5kd1ih5kh1", "d and h are given without w"},
      {"ic1oc1id5kd1iw5kw1", "d and w are given without h"},
      {"ic1oc1iw5kw6", "kernel_size = 6 with dilation = 1 spans 6 positions on axis W"},
      {"g2ic3oc2iw5kw1", "groups = 2 does not divide in_channels = 3"},
      {"ic1oc1iw9ow9223372036854775807kw9223372036854775807sw9223372036854775807dw9223372036854775807",
       "dw is too large"},
      {"ic1oc1iw9ow9223372036854775807kw1sw9223372036854775807", "pw is too large"},
      {"ic1iw5oc1kw1 ic1iw5oc1kw1", "unexpected ic1iw5oc1kw1 after the descriptor"},
      {"ic1iw5oc1kw1 --mb=2", "unexpected --mb=2 after the descriptor"},
      {"--batch=shapes", "--batch = shapes stands for many problems"},
      {"--dir=FWD_D resnet", "unexpected 'r' in a descriptor"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text).find(message), 0u) << text << ": " << refusal(text);
}

TEST(Benchdnn, RefusesKnobsThatChangeTheMeaning) {
  const std::pair<const char*, const char*> cases[] = {
      {"--dir=BWD_D", "--dir = BWD_D computes gradients; valid: FWD_B, FWD_D, FWD_I"},
      {"--dir=FWD", "--dir = FWD is not known"},
      {"--dir=FWD_B,FWD_D", "--dir = FWD_B,FWD_D is a list; valid: one value"},
      {"--dt=u8:s8:u8", "--dt = u8:s8:u8 is not supported; valid: f32, f16, bf16, f64"},
      {"--dt=f32:bf16:f32", "--dt = f32:bf16:f32 has different types of source and weights"},
      {"--dt=f32:f32", "--dt = f32:f32 is not understood"},
      {"--cfg=u8s8u8", "--cfg = u8s8u8 is not supported"},
      {"--cfg=", "--cfg =  is not understood"},
      {"--dt=f64:f64:f32", "out_dtype = float32 with dtype = float64"},
      {"--dt=bf16 --dir=FWD_D --bia-dt=f32", "--bia-dt = float32 with a source of bfloat16"},
      {"--bia-dt=s8", "--bia-dt = s8 is not supported"},
      {"--stag=nhwc", "--stag = nhwc is not supported; valid: any, abx (contiguous), axb (channels last)"},
      {"--stag=abx --dtag=axb", "--stag, --wtag and --dtag differ"},
      {"--mb=-1", "--mb = -1; valid: 0 or more"},
      {"--mb=x", "--mb = x is not a whole number"},
      {"--attr-fpmath=bf16", "--attr-fpmath = bf16 is not supported; valid: strict, tf32"},
      {"--attr-fpmath=tf32 --dt=f16", "math = tf32 with dtype = float16"},
      {"--attr-acc-mode=f16", "--attr-acc-mode = f16 is not supported"},
      {"--attr-scales=dst:common:2", "--attr-scales = dst:common:2 is not supported"},
      {"--attr-post-ops=sum:0.5", "--attr-post-ops = sum:0.5 is not supported"},
      {"--attr-post-ops=relu+sum", "--attr-post-ops = relu+sum is not supported"},
      {"--attr-post-ops=relu+relu", "--attr-post-ops = relu+relu is not supported"},
      {"--attr-post-ops=relu:", "--attr-post-ops = relu: is not supported"},
      {"--attr-post-ops=relu:nan", "--attr-post-ops = relu:nan is not supported"},
      {"--attr-post-ops=relu:0.5:1", "--attr-post-ops = relu:0.5:1 is not supported"},
      {"--attr-post-ops=swish", "--attr-post-ops = swish is not supported"},
      {"--attr-post-ops=swish:2", "--attr-post-ops = swish:2 is not supported"},
      {"--attr-post-ops=tanh", "--attr-post-ops = tanh is not supported"},
      {"--attr-dropout=0.5", "--attr-dropout=0.5 is not a supported knob"},
      {"--strides=1x1x1:::", "--strides=1x1x1::: is not a supported knob"},
      {"--dirr=FWD_B", "--dirr=FWD_B is not a supported knob (did you mean 'dir'?)"},
      {"--matmul", "--matmul is not a supported knob"},
      {"-", "- is not a supported knob"},
      {"--", "-- is not a supported knob"},
      {"--=", "--= is not a supported knob"},
      {"-vx", "-v = x is not a whole number"},
  };
  for (const auto& [knob, message] : cases) {
    const std::string text = std::string(knob) + " ic1iw5oc1kw1";
    EXPECT_EQ(refusal(text).find(message), 0u) << text << ": " << refusal(text);
  }
}

TEST(Benchdnn, PointsAtTheCause) {
  EXPECT_EQ(place("--dir=FWD_D ic1iw5oc1kw1_x"), "x");
  EXPECT_EQ(place("--dir=BWD_D ic1iw5oc1kw1"), "BWD_D ic1iw5oc1kw1");
  EXPECT_EQ(place("--conv ic1iw5oc1kw0"), "0");
  EXPECT_EQ(place("--conv ic1iw5oc1"), "");
  EXPECT_EQ(place("--conv ic1iw5oc1kw7"), "ic1iw5oc1kw7");
}

TEST(Benchdnn, IsRecognized) {
  for (const char* text : {"ic3ih224", "g32", "_mb1ic1", "--dir=FWD_D", "-v5 ic1", "conv --dir=FWD_D", "conv --reset",
                           "deconv ic1", "conv mb1ic1", "/opt/benchdnn --conv", "  kh3 ", "conv -v5 ic1"}) {
    EXPECT_TRUE(looks_like_benchdnn(text)) << text;
  }
  for (const char* text : {"", "conv", "conv -n 8", "conv --batchsize 8", "Conv2d(1, 1, 1) @ 1x1x1x1", "kb56", "g",
                           "mb", "resnet50/conv1", "ic", "unet3d", "MIOpenDriver conv -n 1", "conv -v 2"}) {
    EXPECT_FALSE(looks_like_benchdnn(text)) << text;
  }
}

TEST(Benchdnn, IsOneOfTheSpellingsOfAProblem) {
  EXPECT_EQ(parse_problem("--deconv ic1iw5oc1kw3sw2"), parse_benchdnn("--deconv ic1iw5oc1kw3sw2"));
}

TEST(Benchdnn, TranslatesShortly) {
  for (const char* text :
       {"mb2ic3ih224oc64kh7sh2ph3", "mb8ic64ih512iw256oc128kh5kw7", "g32mb20ic32ih112oc32kh3ph1",
        "mb1ic32iw84350oc32kw2", "mb1ic256ih80iw45oc256kh3kw3ph3pw3dh2dw2", "mb1ic1id4oc1kd3",
        "mb1ic1iw10oc1ow10kw4pw1", "mb1ic1iw10oc1ow7kw1", "mb1ic1iw10oc1ow7kw1pw0",
        "--deconv --dir=FWD_D --dt=bf16:bf16:f32 mb1ic1iw5oc1ow10kw3sw2pw1",
        "--dir=FWD_D --bia-dt=f16 --dt=f16 --stag=axb --dtag=axb --attr-post-ops=sum+relu:0.25 mb1ic1iw5oc1kw3",
        "--attr-fpmath=tf32 --attr-post-ops=swish:1 mb1ic1iw5oc1kw3"}) {
    EXPECT_EQ(benchdnn_descriptor(parse_benchdnn(text)).text, text);
  }
}

TEST(Benchdnn, SaysWhyThereIsNoTranslation) {
  const Problem plain = parse_benchdnn("ic1iw5oc1kw3");
  const auto reason = [&](auto change) {
    Problem problem = plain;
    change(problem);
    validate(problem);
    const Translation translation = benchdnn_descriptor(problem);
    EXPECT_FALSE(translation.text);
    return translation.reason;
  };
  EXPECT_EQ(reason([](Problem& p) { p.kind = Kind::depthwise_separable; }),
            "benchdnn has no problem of two convolutions.");
  EXPECT_EQ(reason([](Problem& p) { p.padding_mode = PaddingMode::reflect; }), "benchdnn has no reflect padding.");
  EXPECT_EQ(reason([](Problem& p) { p.dynamic_batch = true; }), "benchdnn has no dynamic sizes.");
  EXPECT_EQ(reason([](Problem& p) { p.dynamic_input[0] = true; }), "benchdnn has no dynamic sizes.");
  EXPECT_EQ(reason([](Problem& p) { p.contract = Contract::ieee; }), "benchdnn cannot ask for math=ieee on float32.");
  EXPECT_EQ(reason([](Problem& p) {
              p.contract = Contract::tf32;
              p.tie_rule = TieRule::even;
            }),
            "benchdnn cannot ask for math=tf32 with rounding=rn.");
  EXPECT_EQ(reason([](Problem& p) {
              p.activation = Activation::leaky_relu;
              p.negative_slope = 0;
            }),
            "benchdnn takes a leaky ReLU of slope 0 for a ReLU.");
  EXPECT_EQ(reason([](Problem& p) {
              p.padding_lo[0] = -1;
              p.padding_hi[0] = 1;
            }),
            "benchdnn has no padding of -1 before an axis.");
}

/// What is translated is the same problem: all fields alike, but for how its end padding is written.
TEST(Benchdnn, RoundTrips) {
  int translated = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e6);
    const Translation translation = benchdnn_descriptor(problem);
    ASSERT_NE(translation.text.has_value(), !translation.reason.empty());
    if (!translation.text) continue;
    ++translated;
    ASSERT_TRUE(looks_like_benchdnn(*translation.text)) << *translation.text;
    Problem read = parse_benchdnn(*translation.text);
    ASSERT_EQ(output_extent(read), output_extent(problem)) << *translation.text;
    for (int axis = 0; axis < problem.rank; ++axis) {
      const bool even = problem.padding_lo[axis] == problem.padding_hi[axis] && problem.padding_lo[axis] >= 0;
      if (even && problem.output_padding[axis] == 0) {
        ASSERT_EQ(read.padding_hi[axis], problem.padding_hi[axis]) << *translation.text;
      }
    }
    read.padding_hi = problem.padding_hi;
    read.output_padding = problem.output_padding;
    ASSERT_EQ(read, problem) << *translation.text;
  }
  EXPECT_GT(translated, 3000);
}

/// Every size of one axis: the same number of outputs from the same place on.
TEST(Benchdnn, RoundTripsEverySmallAxis) {
  int translated = 0;
  for (const Kind kind : {Kind::convolution, Kind::transposed})
    for (std::int64_t input = 1; input <= 5; ++input)
      for (std::int64_t kernel = 1; kernel <= 3; ++kernel)
        for (std::int64_t stride = 1; stride <= 3; ++stride)
          for (std::int64_t dilation = 1; dilation <= 2; ++dilation)
            for (std::int64_t lo = -3; lo <= 3; ++lo)
              for (std::int64_t hi = -3; hi <= 3; ++hi) {
                Problem p = problem(1, 1, 1, {input, 1, 1}, 1, {kernel, 1, 1});
                p.kind = kind;
                p.stride[0] = stride;
                p.dilation[0] = dilation;
                p.padding_lo[0] = lo;
                p.padding_hi[0] = hi;
                try {
                  validate(p);
                } catch (const Error&) {
                  continue;
                }
                const Translation translation = benchdnn_descriptor(p);
                if (!translation.text) {
                  ASSERT_LT(lo, 0);
                  continue;
                }
                ++translated;
                const Problem read = parse_benchdnn(*translation.text);
                ASSERT_EQ(read.padding_lo, p.padding_lo) << *translation.text;
                ASSERT_EQ(output_extent(read), output_extent(p)) << *translation.text;
                if (kind == Kind::transposed) {
                  ASSERT_EQ(read, p) << *translation.text;
                }
              }
  EXPECT_GT(translated, 2000);
}

}  // namespace
}  // namespace tapconv
