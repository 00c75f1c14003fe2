#include "workbench/diagnosis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "broken_problems.hpp"
#include "broken_result.hpp"

namespace tapconv {
namespace {

using namespace testing;

struct FaultOnProblems {
  Broken broken;
  const char* cause;
  std::vector<const char*> problems;
};

/// The cause is named first, or as one that explains the result equally well.
void expect_cause(const Diagnosis& d, const std::string& cause) {
  EXPECT_TRUE(d.cause == cause || std::count(d.also.begin(), d.also.end(), cause) == 1)
      << "not " << cause << ": " << said(d);
  EXPECT_GT(d.wrong, 0);
  EXPECT_FALSE(d.sentence.empty());
  EXPECT_EQ(std::min<std::int64_t>(d.wrong, 10), static_cast<std::int64_t>(d.worst.size()));
  std::int64_t in_bins = 0;
  for (const Diagnosis::Bin& bin : d.histogram) in_bins += bin.outputs;
  EXPECT_EQ(d.examined, in_bins);
}

/// On every problem a fault is named; on one at least it is the only explanation.
void expect_named(const std::vector<FaultOnProblems>& faults) {
  for (const FaultOnProblems& fault : faults) {
    bool first = false;
    for (const char* const spelled : fault.problems) {
      SCOPED_TRACE(std::string(fault.cause) + " on " + spelled);
      const Problem problem = parse_problem(spelled);
      const Diagnosis d = BrokenResult(problem, fault.broken, 7).diagnose();
      expect_cause(d, fault.cause);
      first = first || (d.cause == fault.cause && d.also.empty());
    }
    EXPECT_TRUE(first) << fault.cause << " is nowhere the only explanation";
  }
}

TEST(Diagnosis, NamesFaultsOfFilters) {
  expect_named({
      {{Fault::kernel_flipped},
       "kernel-flipped",
       {conv1d, strided1d, conv2d, uneven2d, last2d, grouped2d, conv3d, double2d, transposed1d, transposed2d,
        separable2d, fused2d}},
      {{Fault::kernel_flipped_w}, "kernel-flipped", {conv2d, uneven2d, last2d, conv3d, transposed2d, separable2d}},
      {{Fault::taps_transposed},
       "taps-transposed",
       {conv2d, uneven2d, grouped2d, conv3d, double2d, transposed2d, separable2d}},
      {{Fault::channels_swapped}, "channels-swapped", {conv1d, conv2d, uneven2d, conv3d, transposed1d, transposed2d}},
      {{Fault::weights_of_other_layout}, "weight-layout", {conv1d, conv2d, last2d, grouped2d, transposed2d}},
      {{Fault::tap_skipped, -1},
       "last-tap-skipped",
       {conv1d, strided1d, conv2d, uneven2d, last2d, grouped2d, conv3d, transposed1d, transposed2d, separable2d}},
      {{Fault::tap_skipped, 0}, "first-tap-skipped", {conv1d, conv2d, grouped2d, conv3d, separable2d}},
      {{Fault::tap_skipped, 3}, "tap-skipped", {conv1d, conv2d, uneven2d, grouped2d, double2d}},
      {{Fault::tap_row_skipped, -1},
       "last-tap-row-skipped",
       {conv2d, uneven2d, last2d, conv3d, double2d, transposed2d, separable2d}},
      {{Fault::tap_row_skipped, 1}, "tap-row-skipped", {conv2d, grouped2d, double2d, transposed2d, separable2d}},
      {{Fault::channel_skipped, -1},
       "last-channel-skipped",
       {conv1d, strided1d, conv2d, last2d, grouped2d, conv3d, transposed1d, transposed2d, separable2d}},
      {{Fault::channel_skipped, 0}, "first-channel-skipped", {conv1d, conv2d, grouped2d, separable2d}},
      {{Fault::reduction_cut, 16}, "reduction-truncated", {conv1d, conv2d, last2d, double2d, fused2d}},
      {{Fault::reduction_late, 4}, "reduction-starts-late", {conv1d, conv2d, double2d}},
  });
}

TEST(Diagnosis, NamesFaultsOfParameters) {
  expect_named({
      {{Fault::padding_swapped}, "padding-swapped", {strided1d, uneven2d, barely_reached}},
      {{Fault::padding_shifted, 1},
       "padding-off-by-one",
       {conv1d, strided1d, conv2d, last2d, grouped2d, transposed2d, separable2d, gelu1d}},
      {{Fault::padding_shifted, -1}, "padding-off-by-one", {conv1d, conv2d, uneven2d, conv3d, transposed1d}},
      {{Fault::padding_ignored}, "padding-ignored", {conv1d, strided1d, conv2d, uneven2d, transposed1d, separable2d}},
      {{Fault::padding_mode, static_cast<int>(PaddingMode::reflect)},
       "padding-mode",
       {conv1d, conv2d, last2d, separable2d}},
      {{Fault::padding_mode, static_cast<int>(PaddingMode::replicate)}, "padding-mode", {conv1d, uneven2d, conv3d}},
      {{Fault::padding_mode, static_cast<int>(PaddingMode::zeros)},
       "padding-mode",
       {"Conv2d(3, 4, 3, padding=2, padding_mode=reflect) @ 2x3x9x8",
        "Conv1d(3, 4, 5, padding=2, padding_mode=circular) @ 2x3x19"}},
      {{Fault::padding_unchecked}, "padding-unchecked", {conv1d, conv2d, uneven2d, grouped2d}},
      {{Fault::padding_not_complemented}, "padding-not-complemented", {transposed1d, transposed2d}},
      {{Fault::output_padding_side},
       "output-padding-side",
       {transposed2d, "ConvTranspose1d(5, 4, 6, stride=4, output_padding=3) @ 2x5x11"}},
      {{Fault::dilation_shifted, 1},
       "dilation-off-by-one",
       {conv1d, strided1d, conv2d, grouped2d, conv3d, transposed1d, separable2d}},
      {{Fault::dilation_shifted, -1},
       "dilation-off-by-one",
       {strided1d, "Conv2d(3, 4, 3, dilation=3, padding=3) @ 2x3x12x11"}},
      {{Fault::dilation_ignored},
       "dilation-ignored",
       {strided1d, uneven2d, "ConvTranspose1d(3, 4, 3, dilation=3, stride=2) @ 2x3x14"}},
      {{Fault::stride_ignored}, "stride-ignored", {strided1d, uneven2d}},
      {{Fault::stride_phase, 2}, "stride-phase", {strided1d, "Conv2d(3, 4, 3, stride=4) @ 2x3x23x19"}},
      {{Fault::strides_exchanged}, "stride-axes-swapped", {uneven2d, "Conv3d(3, 4, 2, stride=(1, 2, 1)) @ 1x3x7x8x6"}},
      {{Fault::dilations_exchanged},
       "dilation-axes-swapped",
       {uneven2d, "Conv2d(3, 4, 3, dilation=(3, 1), padding=2) @ 2x3x11x9"}},
      {{Fault::paddings_exchanged},
       "padding-axes-swapped",
       {uneven2d, "Conv2d(3, 4, (5, 4), padding=(3, 1)) @ 2x3x11x9"}},
  });
}

TEST(Diagnosis, NamesFaultsOfGroups) {
  const char* const transposed = "ConvTranspose1d(6, 9, 3, stride=2, groups=3) @ 2x6x11";
  const char* const multiplied = "Conv2d(4, 12, 3, padding=1, groups=4) @ 2x4x8x9";
  expect_named({
      {{Fault::groups_interleaved_input}, "groups-interleaved-input", {grouped2d, transposed}},
      {{Fault::groups_ignored}, "groups-ignored", {grouped2d, transposed, multiplied}},
      {{Fault::group_filters_ignored}, "group-filters-ignored", {grouped2d, multiplied}},
      {{Fault::groups_modulo}, "groups-taken-modulo", {grouped2d, transposed, multiplied}},
      {{Fault::groups_interleaved_output}, "groups-interleaved-output", {grouped2d, transposed, multiplied}},
      {{Fault::depthwise_interleaved}, "depthwise-channels-interleaved", {separable2d}},
  });
}

TEST(Diagnosis, NamesFaultsOfEpilogues) {
  expect_named({
      {{Fault::bias_missing},
       "bias-missing",
       {conv1d, conv2d, last2d, conv3d, transposed2d, separable2d, fused2d, gelu1d}},
      {{Fault::bias_doubled}, "bias-doubled", {conv1d, conv2d, double2d, transposed1d, fused2d}},
      {{Fault::bias_of_next}, "bias-of-other-channel", {conv1d, conv2d, grouped2d, transposed2d, separable2d}},
      {{Fault::bias_after_activation}, "bias-after-activation", {fused2d, gelu1d}},
      {{Fault::depthwise_bias_missing}, "depthwise-bias-missing", {separable2d}},
      {{Fault::residual_missing}, "residual-missing", {fused2d, gelu1d}},
      {{Fault::residual_after_activation}, "residual-after-activation", {fused2d, gelu1d}},
      {{Fault::activation, static_cast<int>(Activation::none)}, "activation-missing", {fused2d, gelu1d}},
      {{Fault::activation, static_cast<int>(Activation::gelu_tanh)}, "activation-other", {gelu1d}},
      {{Fault::activation, static_cast<int>(Activation::leaky_relu)}, "activation-other", {fused2d}},
      {{Fault::activation, static_cast<int>(Activation::relu)}, "activation-unwanted", {conv1d, conv2d, transposed2d}},
      {{Fault::scaled, 0, -1}, "sign-flipped", {conv1d, strided1d, transposed2d}},
      {{Fault::scaled, 0, 2}, "scaled", {conv2d, strided1d, separable2d}},
      {{Fault::scaled, 0, 1.0 / 45}, "mean-instead-of-sum", {conv2d}},
      {{Fault::scaled, 0, 0.7310}, "scaled", {strided1d}},
      {{Fault::accumulated}, "accumulated-onto-earlier", {conv1d, conv2d, transposed1d}},
  });
}

TEST(Diagnosis, NamesFaultsOfPlaces) {
  expect_named({
      {{Fault::layout_swapped}, "layout-swapped", {conv1d, conv2d, last2d, conv3d, transposed2d, separable2d, fused2d}},
      {{Fault::input_layout_swapped}, "input-layout-swapped", {conv1d, conv2d, last2d, grouped2d, separable2d}},
      {{Fault::output_axes_swapped}, "output-axes-swapped", {conv2d, uneven2d, transposed2d, separable2d}},
      {{Fault::input_axes_swapped}, "input-axes-swapped", {conv2d, uneven2d, grouped2d}},
      {{Fault::mirrored, 2}, "output-mirrored", {conv1d, conv2d, conv3d, transposed1d}},
      {{Fault::rotated, 0}, "images-rotated", {conv1d, "Conv2d(3, 4, 3) @ 4x3x6x7"}},
      {{Fault::rotated, 1}, "channels-rotated", {conv1d, conv2d, transposed2d}},
      {{Fault::rotated, 2}, "output-rotated", {conv2d, transposed1d}},
      {{Fault::shifted, 2}, "output-shifted", {conv2d, strided1d, transposed1d, conv3d}},
      {{Fault::permuted, 1}, "channels-permuted", {conv2d, last2d, transposed2d, separable2d}},
      {{Fault::index_ignored, 0}, "image-index-ignored", {conv1d, conv2d, transposed2d, fused2d}},
      {{Fault::index_ignored, 1}, "channel-index-ignored", {conv1d, conv2d, separable2d}},
      {{Fault::phases_contiguous},
       "phases-contiguous",
       {transposed1d, transposed2d, "ConvTranspose3d(3, 2, 3, stride=2) @ 1x3x3x4x3"}},
  });
}

/// Operands full of ties between TF32 numbers, and weights where fp16 loses bits.
testing::DefinitionOperands ties(const Problem& p, std::uint64_t seed) {
  testing::DefinitionOperands operands = testing::real_operands(p, seed);
  for (testing::Grid* grid : {&operands.input, &operands.weight, &operands.pointwise_weight}) {
    for (double& value : grid->values)
      value = std::copysign((2048 + std::floor(2048 * std::abs(value))) * 0x1p-12, value) *
              (grid == &operands.input ? 1 : 0x1p-16);
  }
  std::ranges::fill(operands.bias.values, 0);
  std::ranges::fill(operands.pointwise_bias.values, 0);
  return operands;
}

TEST(Diagnosis, NamesUndeclaredArithmeticFromTies) {
  const std::vector<std::pair<OperandRounding, const char*>> roundings{{OperandRounding::exact, ""},
                                                                       {OperandRounding::tf32_rna, "tf32-rna-inside"},
                                                                       {OperandRounding::tf32_rn, "tf32-rn-inside"},
                                                                       {OperandRounding::tf32_rz, "tf32-truncated"},
                                                                       {OperandRounding::bf16, "bf16-inside"},
                                                                       {OperandRounding::fp16, "fp16-inside"}};
  for (const char* const spelled :
       {conv1d, uneven2d, grouped2d, transposed2d, "Conv1d(300, 6, 3) @ 2x300x40", "Conv2d(16, 8, 3) @ 2x16x9x9"}) {
    Problem problem = parse_problem(spelled);
    for (const Contract contract : {Contract::fp32, Contract::tf32}) {
      problem.contract = contract;
      for (const auto& [rounding, cause] : roundings) {
        SCOPED_TRACE(spell(problem) + ", " + std::string(name(rounding)));
        const bool declared = rounding == operand_rounding(contract, problem.tie_rule);
        const std::string expected = declared ? "" : rounding == OperandRounding::exact ? "fp32-inside" : cause;
        const Broken broken{Fault::operands_rounded, static_cast<int>(rounding)};
        const Diagnosis d = BrokenResult(problem, broken, 7, ties(problem, 7)).diagnose();
        EXPECT_EQ(expected, d.cause) << said(d);
        EXPECT_TRUE(d.also.empty()) << said(d);
      }
    }
  }
}

TEST(Diagnosis, NamesRoundingOnOrdinaryTensors) {
  for (const char* const spelled : {conv1d, conv2d, transposed2d, separable2d, "Conv1d(300, 6, 3) @ 2x300x40"}) {
    for (const auto& [rounding, cause] : {std::pair{OperandRounding::tf32_rna, "tf32-rna-inside"},
                                          {OperandRounding::tf32_rn, "tf32-rn-inside"},
                                          {OperandRounding::tf32_rz, "tf32-truncated"},
                                          {OperandRounding::bf16, "bf16-inside"},
                                          {OperandRounding::fp16, "fp16-inside"}}) {
      SCOPED_TRACE(std::string(cause) + " on " + spelled);
      const Broken broken{Fault::operands_rounded, static_cast<int>(rounding)};
      expect_cause(BrokenResult(parse_problem(spelled), broken, 7).diagnose(), cause);
    }
  }
}

TEST(Diagnosis, NamesShortSums) {
  const char* const deep = "Conv1d(300, 6, 3) @ 2x300x40";
  const char* const wide = "Conv2d(16, 8, 3, padding=1) @ 2x16x10x10";
  expect_named({
      {{Fault::output_rounded, static_cast<int>(DType::float16)},
       "output-rounded",
       {wide, conv1d, strided1d, transposed2d}},
      {{Fault::output_rounded, static_cast<int>(DType::bfloat16)}, "output-rounded", {wide, conv1d, grouped2d}},
      {{Fault::accumulated_short, static_cast<int>(DType::float16)}, "short-accumulator", {wide, strided1d, deep}},
      {{Fault::accumulated_short, static_cast<int>(DType::bfloat16)}, "short-accumulator", {strided1d}},
      {{Fault::accumulated_truncated}, "truncating-accumulator", {deep}},
  });
}

/// Bounds of long sums are wide; what errs within them is named all the same.
TEST(Diagnosis, NamesFaultsOfLongSums) {
  const char* const long1d = "Conv1d(4096, 3, 3) @ 1x4096x24";
  const char* const long2d = "Conv2d(1500, 2, 3, padding=1) @ 1x1500x6x7";
  const char* const tensor1d = "Conv1d(2048, 3, 3, math=tf32) @ 1x2048x24";
  const char* const half1d = "Conv1d(2048, 3, 3, dtype=bfloat16, out_dtype=float32) @ 1x2048x24";
  expect_named({
      {{Fault::channel_skipped, -1}, "last-channel-skipped", {long1d, long2d}},
      {{Fault::tap_skipped, 1}, "tap-skipped", {long1d, long2d, tensor1d, half1d}},
      {{Fault::reduction_cut, 6100}, "reduction-truncated", {long1d, long2d, tensor1d, half1d}},
      {{Fault::kernel_flipped}, "kernel-flipped", {long1d, long2d, tensor1d, half1d}},
      {{Fault::bias_missing}, "bias-missing", {long1d, long2d}},
  });
}

/// Infinite weights make a NaN of the zeros of the padding; a result that skips them has numbers there.
TEST(Diagnosis, NamesPaddingThatIsNotMultiplied) {
  for (const char* const spelled : {conv1d, conv2d, grouped2d, conv3d}) {
    SCOPED_TRACE(spelled);
    const Problem problem = parse_problem(spelled);
    testing::DefinitionOperands operands = testing::real_operands(problem, 7);
    operands.weight.values.front() = HUGE_VAL;
    const Diagnosis d = BrokenResult(problem, {Fault::padding_not_multiplied}, 7, operands).diagnose();
    EXPECT_EQ("padding-not-multiplied", d.cause) << said(d);
    EXPECT_EQ("", BrokenResult(problem, {}, 7, operands).diagnose().cause);
  }
}

/// A deviation in a part of the output: named, with the part.
TEST(Diagnosis, NamesADeviationOfAPart) {
  using Index = BrokenResult::Index;
  const Problem problem = parse_problem(conv2d);
  for (const auto& [fault, cause] : {std::pair{Broken{Fault::kernel_flipped}, "kernel-flipped"},
                                     {Broken{Fault::channel_skipped, -1}, "last-channel-skipped"},
                                     {Broken{Fault::bias_missing}, "bias-missing"}}) {
    const BrokenResult wrong(problem, fault, 7);
    BrokenResult result(problem, {}, 7);
    result.overwrite([](const Index& i) { return i[1] >= 4; }, [&](std::size_t byte) { return wrong.output[byte]; });
    const Diagnosis d = result.diagnose();
    EXPECT_EQ(cause, d.cause) << said(d);
    EXPECT_NE(std::string::npos, d.sentence.find("In channels 4 to 5 only")) << said(d);
  }
}

}  // namespace
}  // namespace tapconv
