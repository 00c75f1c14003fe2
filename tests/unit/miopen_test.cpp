#include "spelling/miopen.hpp"

#include <gtest/gtest.h>

#include <string>

#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

/// The first line of the message, or "valid".
std::string refusal(std::string_view text) {
  try {
    (void)parse_miopen(text);
  } catch (const SpellingError& error) {
    EXPECT_LE(error.position(), text.size());
    const std::string message = error.what();
    return message.substr(0, message.find('\n'));
  }
  return "valid";
}

Problem defaults() {
  Problem problem;
  problem.batch = 100;
  problem.in_channels = 3;
  problem.out_channels = 32;
  problem.input = {32, 32, 1};
  problem.kernel = {3, 3, 1};
  problem.bias = false;
  return problem;
}

TEST(Miopen, ReadsShortAndLongFlags) {
  Problem expected = defaults();
  EXPECT_EQ(parse_miopen("./bin/MIOpenDriver conv"), expected);
  EXPECT_EQ(parse_miopen("conv -i 5 -V 0 -t 1 -w 2 -s 1 -P 0 -o 0 -F 1 -S 0 -G 1 -C dir -d x -e w -a b -D y"),
            expected);
  EXPECT_EQ(parse_miopen("conv -F 0 -m conv -r 0 -Z 0 -L 1 -U -1 -T -1 -R -1 -z default -_ 2"), expected);

  expected.batch = 8;
  expected.in_channels = 64;
  expected.input = {512, 256, 1};
  expected.out_channels = 128;
  expected.kernel = {5, 7, 1};
  expected.padding_lo = expected.padding_hi = {1, 2, 0};
  expected.stride = {3, 4, 1};
  expected.dilation = {5, 6, 1};
  expected.groups = 2;
  expected.bias = true;
  EXPECT_EQ(parse_miopen("conv -n 8 -c 64 -H 512 -W 256 -k 128 -y 5 -x 7 -p 1 -q 2 -u 3 -v 4 -l 5 -j 6 -g 2 -b 1"),
            expected);
  EXPECT_EQ(parse_miopen("MIOpenDriver conv --batchsize 8 --in_channels 64 --in_h 512 --in_w 256 --out_channels 128 "
                         "--fil_h 5 --fil_w 7 --pad_h 1 --pad_w 2 --conv_stride_h 3 --conv_stride_w 4 --dilation_h 5 "
                         "--dilation_w 6 --group_count 2 --bias 1 --forw 1 --mode conv"),
            expected);
}

TEST(Miopen, ReadsTypesLayoutsAndDepth) {
  Problem half = defaults();
  half.dtype = half.out_dtype = DType::float16;
  half.contract = Contract::fp16;
  half.layout = Layout::channels_last;
  EXPECT_EQ(parse_miopen("convfp16 -I NHWC -O NHWC -f NHWC"), half);

  Problem deep = defaults();
  deep.dtype = deep.out_dtype = DType::bfloat16;
  deep.contract = Contract::bf16;
  deep.kind = Kind::transposed;
  deep.rank = 3;
  deep.input = {7, 8, 9};
  deep.kernel = {2, 3, 4};
  deep.stride = {4, 3, 2};
  deep.padding_lo = deep.padding_hi = {1, 0, 2};
  deep.dilation = {2, 1, 1};
  deep.output_padding = {3, 2, 1};
  const std::string rest = " -H 8 -W 9 -y 3 -x 4 -u 3 -v 2 -p 0 -q 2 -Y 2 -X 1 -m trans";
  EXPECT_EQ(parse_miopen("convbfp16 -_ 3 -! 7 -@ 2 -# 4 -$ 1 -^ 2 -% 3 --in_layout NCDHW" + rest), deep);
  EXPECT_EQ(parse_miopen("convbfp16 --spatial_dim 3 --in_d 7 --fil_d 2 --conv_stride_d 4 --pad_d 1 --dilation_d 2 "
                         "--trans_output_pad_d 3" +
                         rest),
            deep);
}

TEST(Miopen, PadsAsTheDriver) {
  const auto padding = [](const std::string& flags) { return parse_miopen("conv " + flags).padding_lo; };
  EXPECT_EQ(padding("-z same -p 5"), (Extent{1, 1, 0}));
  EXPECT_EQ(padding("-z same -y 4 -x 5 -u 2 -v 3"), (Extent{1, 1, 0}));  // 32 % 3 = 2: (5 - 2) / 2
  EXPECT_EQ(padding("-z same -y 1 -x 1 -u 2 -v 2 -l 3"), (Extent{0, 0, 0}));
  EXPECT_EQ(padding("--pad_mode valid -p 5 -q 2"), (Extent{0, 0, 0}));
  EXPECT_EQ(padding("-p 5 -q 2"), (Extent{5, 2, 0}));
}

TEST(Miopen, RefusesTheRest) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "a driver is missing; valid: conv, convfp16, convbfp16"},
      {"MIOpenDriver", "a driver is missing"},
      {"MIOpenDriver pool -n 1", "pool is not supported; valid: conv, convfp16, convbfp16"},
      {"convint8 -n 1", "convint8 is not supported"},
      {"conv -F 2", "forw = 2 computes gradients; valid: 0, 1"},
      {"conv -F 3", "forw = 3 computes gradients"},
      {"conv -r 1", "pad_val = 1 is not supported; valid: 0"},
      {"conv -Z 1", "tensor_vect = 1 is not supported"},
      {"conv -L 4", "vector_length = 4 is not supported"},
      {"conv -T fp8", "out_cast_type = fp8 is not supported"},
      {"conv -m transpose", "mode = transpose is not supported; valid: conv, trans"},
      {"conv -_ 1", "spatial_dim = 1 is not supported; valid: 2, 3"},
      {"conv -b 2", "bias = 2 is not supported; valid: 0, 1"},
      {"conv -z full", "pad_mode = full is not supported; valid: default, same, valid"},
      {"conv -z same -l 2", "pad_mode = same with a dilation or with mode = trans"},
      {"conv -z valid -m trans", "pad_mode = valid with a dilation or with mode = trans"},
      {"conv -I CHWN", "in_layout = CHWN is not supported; valid: NCHW, NHWC"},
      {"conv -I NHWC", "in_layout and fil_layout differ"},
      {"conv -I NHWC -f NHWC", "in_layout and out_layout differ"},
      {"conv -n", "-n is missing a value"},
      {"conv -n 0", "batchsize = 0; valid: 1 or more"},
      {"conv -n 8x", "batchsize = 8x is not a whole number"},
      {"conv -p -1", "pad_h = -1; valid: 0 or more"},
      {"conv -n 8 --batchsize 8", "batchsize is given twice; valid: once"},
      {"conv -nn 8", "-nn is not a flag"},
      {"conv --batch 8", "--batch is not a flag"},
      {"conv -Q 8", "-Q is not a flag"},
      {"conv 8", "8 is not a flag"},
      {"conv -g 2", "groups = 2 does not divide in_channels = 3"},
      {"conv -y 40", "kernel_size = 40 with dilation = 1 spans 40 positions on axis H"},
      {"conv -n 9223372036854775807 -H 9223372036854775807", "input of shape"},
      {"conv -m trans -Y 1", "output_padding = 1 on axis H"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(refusal(text).find(message), 0u) << text << ": " << refusal(text);
}

TEST(Miopen, IsRecognized) {
  for (const char* text :
       {"MIOpenDriver", "./bin/MIOpenDriver conv", "conv -n 8", "convfp16 --batchsize 8", "conv -_ 3"})
    EXPECT_TRUE(looks_like_miopen(text)) << text;
  for (const char* text :
       {"", "conv", "conv --dir=FWD_D", "conv --reset", "conv ic1", "convnext/stem", "-n 8", "Conv2d"})
    EXPECT_FALSE(looks_like_miopen(text)) << text;
  EXPECT_EQ(parse_problem("conv -n 8"), parse_miopen("conv -n 8"));
}

TEST(Miopen, RoundTrips) {
  int translated = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e6);
    const Translation translation = miopen_command(problem);
    ASSERT_NE(translation.text.has_value(), !translation.reason.empty());
    if (!translation.text) continue;
    ++translated;
    ASSERT_TRUE(looks_like_miopen(*translation.text)) << *translation.text;
    ASSERT_EQ(parse_miopen(*translation.text), problem) << *translation.text;
  }
  EXPECT_GT(translated, 200);
}

TEST(Miopen, SaysWhyThereIsNoTranslation) {
  const auto reason = [](auto change) {
    Problem problem = defaults();
    change(problem);
    validate(problem);
    const Translation translation = miopen_command(problem);
    EXPECT_FALSE(translation.text);
    return translation.reason;
  };
  EXPECT_EQ(reason([](Problem& p) { p.kind = Kind::depthwise_separable; }),
            "MIOpenDriver has no problem of two convolutions.");
  EXPECT_EQ(reason([](Problem& p) {
              p.rank = 1;
              p.input[1] = p.kernel[1] = 1;
            }),
            "MIOpenDriver has two or three spatial axes, not one.");
  EXPECT_EQ(reason([](Problem& p) {
              p.dtype = p.out_dtype = DType::float64;
              p.contract = Contract::fp64;
            }),
            "MIOpenDriver has no float64.");
  EXPECT_EQ(reason([](Problem& p) { p.out_dtype = DType::float16; }),
            "MIOpenDriver has one type for input and output.");
  EXPECT_EQ(reason([](Problem& p) { p.contract = Contract::tf32; }),
            "MIOpenDriver cannot ask for math=tf32 on float32.");
  EXPECT_EQ(reason([](Problem& p) { p.padding_mode = PaddingMode::circular; }),
            "MIOpenDriver has no circular padding.");
  EXPECT_EQ(reason([](Problem& p) { p.padding_lo[0] = 1; }), "MIOpenDriver has the same padding on both sides.");
  EXPECT_EQ(reason([](Problem& p) { p.padding_lo[0] = p.padding_hi[0] = -1; }),
            "MIOpenDriver has no negative padding.");
  EXPECT_EQ(reason([](Problem& p) { p.residual = true; }), "MIOpenDriver has no residual and no activation.");
  EXPECT_EQ(reason([](Problem& p) { p.dynamic_batch = true; }), "MIOpenDriver has no dynamic sizes.");
  EXPECT_EQ(reason([](Problem& p) { p.batch = std::int64_t{1} << 31; }), "MIOpenDriver has sizes of 32 bits.");
}

}  // namespace
}  // namespace tapconv
