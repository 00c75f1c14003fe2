// The CPU engine beyond plain convolutions: depthwise separable ones, padding, types, layouts,
// epilogues, dynamic sizes.
#include <gtest/gtest.h>

#include "cpu_tensors.hpp"
#include "special_numbers.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::Bytes;
using testing::compute;
using testing::CpuTensors;
using testing::draw_tensors;
using testing::expect_right;
using testing::expect_special_values_right;
using testing::infinity;
using testing::keeps_contract;
using testing::nan;
using testing::run_guarded;
using testing::set_value;

constexpr Layout layouts[] = {Layout::contiguous, Layout::channels_last};
constexpr DType cpu_types[] = {DType::float32, DType::float16, DType::bfloat16};

TEST(CpuPadding, EveryModeAroundEverySide) {
  for (const PaddingMode mode :
       {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}) {
    for (int rank = 1; rank <= max_rank; ++rank) {
      for (const Layout layout : layouts) {
        for (const auto& [lo, hi] : {std::pair{2, 3}, {3, 0}, {0, 1}, {-1, 2}, {2, -2}, {-2, -1}, {-3, 0}}) {
          Problem p{.rank = rank, .batch = 2, .in_channels = 6, .out_channels = 4, .groups = 2, .padding_mode = mode};
          for (int axis = 0; axis < rank; ++axis) {
            p.input[axis] = 6 + axis;
            p.kernel[axis] = 3;
            p.stride[axis] = 1 + axis % 2;
            p.padding_lo[axis] = axis == 1 ? hi : lo;
            p.padding_hi[axis] = axis == 1 ? lo : hi;
          }
          p.layout = layout;
          SCOPED_TRACE(::testing::Message()
                       << name(mode) << " " << rank << " " << name(layout) << " " << lo << " " << hi);
          expect_right(p, 11);
        }
      }
    }
  }
}

/// For some of these oneDNN has no implementation but plain loops.
TEST(CpuPadding, LongerThanTheFilter) {
  for (const char* text :
       {"Conv2d(1, 1, 5, padding=7) @ 1x1x16x16", "Conv2d(4, 1, 3, padding=9) @ 1x4x16x16",
        "Conv2d(3, 1, 3, dilation=4, padding=(9, 20)) @ 1x3x8x8",
        "Conv2d(3, 1, 3, padding=20, dtype=bfloat16) @ 1x3x8x8", "Conv3d(1, 1, 2, padding=5) @ 2x1x4x3x5",
        "Conv1d(1, 1, 3, padding=50) @ 1x1x4",
        "ConvTranspose2d(4, 1, (3, 4), padding=((1, -2), (2, 2)), output_padding=(2, 0), dilation=(3, 2)) @ 1x4x8x3"}) {
    SCOPED_TRACE(text);
    expect_right(parse_problem(text), 13);
  }
}

TEST(CpuPadding, SpecialValuesMeetEveryMode) {
  for (const PaddingMode mode :
       {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}) {
    Problem p{.in_channels = 3, .out_channels = 4, .input = {5, 6, 1}, .kernel = {3, 3, 1}, .padding_mode = mode};
    p.padding_lo = {2, -1, 0};
    p.padding_hi = {3, 2, 0};
    SCOPED_TRACE(name(mode));
    expect_special_values_right(p, 13);
  }
}

TEST(CpuTypes, EveryPairOfTypesInEveryKindAndLayout) {
  for (const Kind kind : {Kind::convolution, Kind::transposed, Kind::depthwise_separable}) {
    for (const DType dtype : cpu_types) {
      for (const DType out_dtype : cpu_types) {
        for (const Layout layout : layouts) {
          for (const Contract contract : all_contracts) {
            if (!applies_to(contract, dtype)) continue;
            Problem p{.kind = kind, .batch = 2, .in_channels = 5, .out_channels = 7};
            p.input = {6, 7, 1};
            p.kernel = {3, 2, 1};
            p.stride = {2, 1, 1};
            p.padding_lo = p.padding_hi = {1, 0, 0};
            p.dtype = dtype;
            p.out_dtype = out_dtype;
            p.layout = layout;
            p.contract = contract;
            p.residual = true;
            p.activation = Activation::relu;
            SCOPED_TRACE(::testing::Message() << static_cast<int>(kind) << " " << name(dtype) << " " << name(out_dtype)
                                              << " " << name(layout) << " " << name(contract));
            expect_right(p, 17);
          }
        }
      }
    }
  }
}

TEST(CpuEpilogue, EveryActivationWithAndWithoutResidual) {
  for (const Activation activation : all_activations) {
    for (const bool residual : {false, true}) {
      for (const Layout layout : layouts) {
        for (const DType out_dtype : {DType::float32, DType::bfloat16}) {
          for (const std::int64_t channels : {1, 16, 19}) {
            Problem p{.in_channels = channels, .out_channels = channels, .input = {9, 8, 1}, .kernel = {3, 3, 1}};
            p.out_dtype = out_dtype;
            p.layout = layout;
            p.residual = residual;
            p.activation = activation;
            if (activation == Activation::leaky_relu) p.negative_slope = channels == 1 ? -0.25 : 1.5;
            SCOPED_TRACE(::testing::Message() << name(activation) << " " << residual << " " << name(layout) << " "
                                              << name(out_dtype) << " " << channels);
            expect_right(p, 19);
          }
        }
      }
    }
  }
}

/// Numbers from everywhere, and where activations bend.
std::vector<double> sweep() {
  std::vector<double> values{infinity, -infinity, nan,    -nan,    0.0,   -0.0,
                             3.4e38,   -3.4e38,   1.8e38, -1.8e38, 1e-45, -1e-45};
  for (int i = -30000; i <= 30000; ++i) values.push_back(i * 1e-3);
  for (int exponent = -149; exponent < 128; ++exponent) {
    for (const double significand : {1.0, 1.3, 1.7}) {
      values.push_back(std::ldexp(significand, exponent));
      values.push_back(-std::ldexp(significand, exponent));
    }
  }
  while (values.size() % 16 != 0) values.push_back(1);
  return values;
}

TEST(CpuEpilogue, ActivationsKeepTheirBoundEverywhere) {
  const std::vector<double> values = sweep();
  for (const Activation activation : all_activations) {
    for (const double slope : {0.01, -0.25, 1.5, 0.0, 1e-42, 1e300}) {
      if (activation != Activation::leaky_relu && slope != 0.01) continue;
      for (const Layout layout : layouts) {
        for (const std::int64_t channels : {1, 16}) {
          Problem p{.in_channels = channels, .out_channels = channels, .groups = channels, .bias = false};
          p.rank = 1;
          p.input = {static_cast<std::int64_t>(values.size()) / channels, 1, 1};
          p.layout = layout;
          p.activation = activation;
          p.negative_slope = slope;
          CpuTensors tensors = draw_tensors(p, 1);
          for (std::size_t i = 0; i < values.size(); ++i) set_value(tensors.input, p.dtype, i, values[i]);
          for (std::int64_t c = 0; c < channels; ++c)
            set_value(tensors.weight, p.dtype, static_cast<std::size_t>(c), 1);
          EXPECT_TRUE(keeps_contract(p, tensors, compute(p, tensors)))
              << name(activation) << " " << slope << " " << name(layout) << " " << channels << " "
              << cpu::Convolution(p).implementation();
        }
      }
    }
  }
}

TEST(CpuSeparable, EveryVariant) {
  for (int rank = 1; rank <= max_rank; ++rank) {
    for (const std::int64_t multiplier : {1, 3}) {
      for (const Contract contract : {Contract::ieee, Contract::fp32, Contract::tf32}) {
        for (const PaddingMode mode : {PaddingMode::zeros, PaddingMode::reflect}) {
          Problem p{.kind = Kind::depthwise_separable, .rank = rank, .batch = 2, .in_channels = 5, .out_channels = 6};
          for (int axis = 0; axis < rank; ++axis) {
            p.input[axis] = 7;
            p.kernel[axis] = 3;
            p.padding_lo[axis] = p.padding_hi[axis] = 1;
          }
          p.depth_multiplier = multiplier;
          p.padding_mode = mode;
          p.contract = contract;
          p.residual = rank == 2;
          p.bias = multiplier == 3;
          SCOPED_TRACE(::testing::Message() << rank << " " << multiplier << " " << name(contract) << " " << name(mode));
          expect_right(p, 23);
          expect_special_values_right(p, 29);
        }
      }
    }
  }
}

TEST(CpuSeparable, RoundsTheOperandsOfThePointwiseHalfAlone) {
  Problem p{.kind = Kind::depthwise_separable, .rank = 1, .input = {2, 1, 1}, .kernel = {2, 1, 1}, .bias = false};
  p.contract = Contract::tf32;
  CpuTensors tensors = draw_tensors(p, 1);
  const auto output = [&](std::pair<double, double> input, std::pair<double, double> weight, double pointwise) {
    set_value(tensors.input, p.dtype, 0, input.first);
    set_value(tensors.input, p.dtype, 1, input.second);
    set_value(tensors.weight, p.dtype, 0, weight.first);
    set_value(tensors.weight, p.dtype, 1, weight.second);
    set_value(tensors.pointwise_weight, p.dtype, 0, pointwise);
    return testing::values_of(p, compute(p, tensors)).front();
  };
  EXPECT_EQ(output({1 + 0x1p-12, 1}, {1, -1}, 1), 0x1p-12);     // rounded inputs would cancel
  EXPECT_EQ(output({1, 1}, {1 + 0x1p-12, -1}, 1), 0x1p-12);     // and so would rounded weights
  EXPECT_EQ(output({1, 0}, {1 + 0x1p-11, 0}, 1), 1 + 0x1p-10);  // the value between is a tie
  EXPECT_EQ(output({1, 0}, {1, 0}, 1 + 0x1p-11), 1 + 0x1p-10);
}

Problem dynamic_problem() {
  Problem p{.batch = 2, .in_channels = 6, .out_channels = 4, .input = {9, 8, 1}, .kernel = {3, 3, 1}};
  p.padding_lo = p.padding_hi = {1, 1, 0};
  p.dynamic_batch = true;
  p.dynamic_input = {true, false, false};
  return p;
}

Problem with_height(Problem problem, std::int64_t height) {
  problem.batch = height % 3 + 1;
  problem.input[0] = height;
  return problem;
}

TEST(CpuDynamic, ServesManySizesWithTheSameWeights) {
  const Problem example = dynamic_problem();
  cpu::Convolution convolution(example, 1);
  CpuTensors first = draw_tensors(example, 31);
  for (const double weight : {0.5, infinity, 0.25}) {  // the second needs other plans
    set_value(first.weight, example.dtype, 0, weight);
    {
      const CpuTensors copy = first;  // gone when the sizes change
      convolution.set_weights(copy.weights());
    }
    // More sizes than are kept, some again.
    for (const int height : {9, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 3, 9}) {
      const Problem problem = with_height(example, height);
      convolution.set_sizes(problem.batch, problem.input);
      CpuTensors tensors = draw_tensors(problem, static_cast<std::uint64_t>(height));
      tensors.weight = first.weight;
      tensors.bias = first.bias;
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors))) << height;
    }
  }
}

TEST(CpuDynamic, RefusesOtherSizes) {
  const Problem example = dynamic_problem();
  cpu::Convolution convolution(example, 1);
  const auto refusal = [&](std::int64_t batch, const Extent& input) -> std::string {
    try {
      convolution.set_sizes(batch, input);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(2, {9, 9, 1}), "input[1] = 9 is not dynamic; valid: 8");
  EXPECT_EQ(refusal(2, {9, 8, 2}), "input[2] = 2 is not dynamic; valid: 1");
  EXPECT_EQ(refusal(0, {9, 8, 1}), "batch = 0; valid: 1 or more");
  EXPECT_EQ(refusal(1, {1073741825, 8, 1}), "padded input size = 1073741827; valid on the CPU: at most 1073741824");
  const CpuTensors tensors = draw_tensors(example, 37);  // the sizes are still the example's
  convolution.set_weights(tensors.weights());
  EXPECT_TRUE(keeps_contract(example, tensors, run_guarded(convolution, example, tensors)));
  EXPECT_EQ(refusal(5, {4, 8, 1}), "accepted");
  Problem fixed = example;
  fixed.dynamic_batch = false;
  EXPECT_THROW(cpu::Convolution(fixed, 1).set_sizes(3, {9, 8, 1}), Error);
}

TEST(CpuReferences, RefuseWhatOneDnnDoesNotTakeByItself) {
  const auto refusal = [](const Problem& problem) -> std::string {
    try {
      static_cast<void>(cpu::references(problem));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      return error.what();
    }
    return "accepted";
  };
  const Problem base{.in_channels = 4, .out_channels = 4, .input = {6, 6, 1}, .kernel = {3, 3, 1}};
  EXPECT_EQ(refusal(base), "accepted");
  Problem p = base;
  p.padding_lo = {-1, 0, 0};
  EXPECT_EQ(refusal(p),
            "oneDNN does not compute negative padding by itself; valid: a problem that it takes as one primitive");
  p = base;
  p.padding_mode = PaddingMode::circular;
  EXPECT_TRUE(refusal(p).starts_with("oneDNN does not compute padding that is not zeros"));
  p = base;
  p.kind = Kind::depthwise_separable;
  EXPECT_TRUE(refusal(p).starts_with("oneDNN does not compute a depthwise separable convolution"));
}

TEST(CpuReferences, TakeEpiloguesAndLayouts) {
  for (const Layout layout : layouts) {
    for (const Activation activation : all_activations) {
      Problem p{.in_channels = 16, .out_channels = 16, .input = {9, 8, 1}, .kernel = {3, 3, 1}};
      p.layout = layout;
      p.residual = true;
      p.activation = activation;
      const CpuTensors tensors = draw_tensors(p, 41);
      for (cpu::Reference& reference : cpu::references(p, 1)) {
        reference.set_weights(tensors.weights());
        EXPECT_TRUE(keeps_contract(p, tensors, run_guarded(reference, p, tensors)))
            << name(activation) << " " << reference.name();
      }
    }
  }
}

}  // namespace
}  // namespace tapconv
