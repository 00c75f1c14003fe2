#include <gtest/gtest.h>

#include <string>

#include "random_problem.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// 2-D, 4 channels to 6, without bias.
Problem plane() {
  Problem problem;
  problem.in_channels = 4;
  problem.out_channels = 6;
  problem.input = {9, 8, 1};
  problem.kernel = {3, 3, 1};
  problem.bias = false;
  return problem;
}

std::string python(auto change) {
  Problem problem = plane();
  change(problem);
  validate(problem);
  return pytorch_call(problem).text.value();
}

TEST(PytorchCall, OfPlainConvolutions) {
  EXPECT_EQ(python([](Problem&) {}), "F.conv2d(x, w)");
  EXPECT_EQ(python([](Problem& p) { p.bias = true; }), "F.conv2d(x, w, b)");
  EXPECT_EQ(python([](Problem& p) {
              p.stride = {2, 1, 1};
              p.padding_lo = p.padding_hi = {1, 1, 0};
              p.dilation = {2, 2, 1};
              p.groups = 2;
            }),
            "F.conv2d(x, w, stride=(2, 1), padding=1, dilation=2, groups=2)");
  EXPECT_EQ(python([](Problem& p) {
              p.rank = 1;
              p.input[1] = p.kernel[1] = 1;
              p.stride[0] = 4;
            }),
            "F.conv1d(x, w, stride=4)");
  EXPECT_EQ(python([](Problem& p) {
              p.rank = 3;
              p.padding_lo = p.padding_hi = {1, 0, 2};
            }),
            "F.conv3d(x, w, padding=(1, 0, 2))");
  // Neither the layout nor the contract changes what is computed.
  EXPECT_EQ(python([](Problem& p) {
              p.layout = Layout::channels_last;
              p.contract = Contract::tf32;
              p.dynamic_batch = true;
            }),
            "F.conv2d(x, w)");
}

TEST(PytorchCall, PadsWhatAConvolutionCannot) {
  EXPECT_EQ(python([](Problem& p) {
              p.padding_lo = {1, 2, 0};
              p.padding_hi = {3, -1, 0};
            }),
            "F.conv2d(F.pad(F.pad(x, (2, 0, 1, 3)), (0, -1, 0, 0)), w)");
  EXPECT_EQ(python([](Problem& p) {
              p.padding_lo = p.padding_hi = {-1, 0, 0};
            }),
            "F.conv2d(F.pad(x, (0, 0, -1, -1)), w)");
  EXPECT_EQ(python([](Problem& p) {
              p.padding_mode = PaddingMode::circular;
              p.padding_lo = p.padding_hi = {1, 2, 0};
            }),
            "F.conv2d(F.pad(x, (2, 2, 1, 1), mode='circular'), w)");
  EXPECT_EQ(python([](Problem& p) {
              p.padding_mode = PaddingMode::reflect;
              p.padding_lo = {1, -2, 0};
            }),
            "F.conv2d(F.pad(F.pad(x, (0, 0, 1, 0), mode='reflect'), (-2, 0, 0, 0)), w)");
  EXPECT_EQ(python([](Problem& p) { p.padding_mode = PaddingMode::replicate; }), "F.conv2d(x, w)");
}

TEST(PytorchCall, OfTransposed) {
  const auto transposed = [](auto change) {
    return python([&](Problem& p) {
      p.kind = Kind::transposed;
      p.stride = {2, 2, 1};
      p.bias = true;
      change(p);
    });
  };
  EXPECT_EQ(transposed([](Problem& p) {
              p.padding_lo = p.padding_hi = {1, 1, 0};
              p.output_padding = {1, 0, 0};
            }),
            "F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=(1, 0))");
  // Cropped: the bias is there already.
  EXPECT_EQ(transposed([](Problem& p) {
              p.padding_lo = {1, 0, 0};
              p.padding_hi = {2, 1, 0};
              p.output_padding = {1, 1, 0};
            }),
            "F.pad(F.conv_transpose2d(x, w, b, stride=2), (0, 0, -1, -1))");
  // Extended: there is nothing but the bias.
  EXPECT_EQ(transposed([](Problem& p) {
              p.padding_lo = {-1, 2, 0};
            }),
            "F.pad(F.pad(F.conv_transpose2d(x, w, stride=2), (0, 0, 1, 0)), (-2, 0, 0, 0)) + b.view(-1, 1, 1)");
  EXPECT_EQ(transposed([](Problem& p) {
              p.padding_lo = {-1, 2, 0};
              p.bias = false;
            }),
            "F.pad(F.pad(F.conv_transpose2d(x, w, stride=2), (0, 0, 1, 0)), (-2, 0, 0, 0))");
}

TEST(PytorchCall, OfDepthwiseSeparable) {
  EXPECT_EQ(python([](Problem& p) {
              p.kind = Kind::depthwise_separable;
              p.bias = true;
              p.depth_multiplier = 2;
              p.padding_lo = {2, 0, 0};
              p.activation = Activation::relu;
            }),
            "F.relu(F.conv2d(F.conv2d(F.pad(x, (0, 0, 2, 0)), w, b, groups=4), w2, b2))");
}

TEST(PytorchCall, OfEpilogues) {
  const auto active = [](Activation activation) {
    return python([&](Problem& p) {
      p.activation = activation;
      if (activation == Activation::leaky_relu) p.negative_slope = 0.1;
      p.residual = activation == Activation::silu;
    });
  };
  EXPECT_EQ(active(Activation::relu), "F.relu(F.conv2d(x, w))");
  EXPECT_EQ(active(Activation::leaky_relu), "F.leaky_relu(F.conv2d(x, w), 0.1)");
  EXPECT_EQ(active(Activation::silu), "F.silu(F.conv2d(x, w) + residual)");
  EXPECT_EQ(active(Activation::gelu), "F.gelu(F.conv2d(x, w))");
  EXPECT_EQ(active(Activation::gelu_tanh), "F.gelu(F.conv2d(x, w), approximate='tanh')");
}

/// The one rounding to a 16-bit type is the last step.
TEST(PytorchCall, OfNarrowTypes) {
  const auto narrow = [](DType out, auto change) {
    return python([&](Problem& p) {
      p.dtype = DType::bfloat16;
      p.out_dtype = out;
      p.contract = Contract::bf16;
      change(p);
    });
  };
  EXPECT_EQ(narrow(DType::bfloat16, [](Problem& p) { p.activation = Activation::relu; }), "F.relu(F.conv2d(x, w))");
  EXPECT_EQ(narrow(DType::bfloat16, [](Problem& p) { p.activation = Activation::silu; }),
            "F.silu(F.conv2d(x.float(), w.float())).to(torch.bfloat16)");
  EXPECT_EQ(narrow(DType::bfloat16, [](Problem& p) { p.residual = p.bias = true; }),
            "(F.conv2d(x.float(), w.float(), b.float()) + residual).to(torch.bfloat16)");
  EXPECT_EQ(narrow(DType::float32, [](Problem&) {}), "F.conv2d(x.float(), w.float())");
  EXPECT_EQ(narrow(DType::float16, [](Problem& p) { p.kind = Kind::depthwise_separable; }),
            "F.conv2d(F.conv2d(x.float(), w.float(), groups=4), w2.float()).to(torch.float16)");
  EXPECT_EQ(python([](Problem& p) { p.out_dtype = DType::float16; }), "F.conv2d(x, w).to(torch.float16)");
}

TEST(PytorchCall, OfEveryProblem) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e6);
    const std::string text = pytorch_call(problem).text.value();
    ASSERT_EQ(std::count(text.begin(), text.end(), '('), std::count(text.begin(), text.end(), ')')) << text;
    ASSERT_NE(text.find("(x"), std::string::npos) << text;
    ASSERT_EQ(text.find(" residual") != std::string::npos, problem.residual) << text;
    ASSERT_EQ(text.find("w2") != std::string::npos, problem.kind == Kind::depthwise_separable) << text;
  }
}

}  // namespace
}  // namespace tapconv
