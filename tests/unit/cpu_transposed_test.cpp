// The CPU engine on transposed convolutions: by oneDNN's deconvolution, and by residue classes.
#include <gtest/gtest.h>

#include "cpu_tensors.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::CpuTensors;
using testing::draw_tensors;
using testing::expect_right;
using testing::expect_special_values_right;
using testing::keeps_contract;
using testing::run_guarded;

constexpr Extent one{1, 1, 1}, none{0, 0, 0};

struct Case {
  std::string name;
  Problem problem;
};

std::vector<Case> transposed_cases() {
  const auto make = [](int rank, std::int64_t in, std::int64_t out, Extent input, Extent kernel, Extent stride,
                       Extent padding = none, Extent output_padding = none, Extent dilation = one,
                       std::int64_t groups = 1) {
    Problem p{.kind = Kind::transposed, .rank = rank, .batch = 2, .in_channels = in, .out_channels = out};
    p.input = input;
    p.kernel = kernel;
    p.stride = stride;
    p.padding_lo = p.padding_hi = padding;
    p.output_padding = output_padding;
    p.dilation = dilation;
    p.groups = groups;
    return p;
  };
  std::vector<Case> cases{
      {"single", make(1, 1, 1, one, one, one)},
      {"pointwise", make(2, 8, 16, {5, 6, 1}, one, one)},
      {"stride 1", make(2, 16, 16, {7, 6, 1}, {3, 3, 1}, one, {1, 1, 0})},
      {"doubling", make(2, 16, 8, {7, 6, 1}, {4, 4, 1}, {2, 2, 1}, {1, 1, 0})},
      {"output padding", make(2, 16, 8, {7, 6, 1}, {3, 3, 1}, {2, 2, 1}, {1, 1, 0}, {1, 1, 0})},
      {"output padding at its most", make(2, 3, 5, {4, 3, 1}, {2, 3, 1}, {4, 3, 1}, none, {3, 2, 0})},
      {"output padding below dilation", make(1, 3, 5, {9, 1, 1}, {3, 1, 1}, {2, 1, 1}, none, {4, 0, 0}, {5, 1, 1})},
      {"stride over kernel", make(2, 5, 3, {4, 5, 1}, {2, 2, 1}, {5, 3, 1})},
      {"empty classes by dilation", make(2, 5, 3, {4, 5, 1}, {3, 2, 1}, {4, 6, 1}, none, none, {2, 3, 1})},
      {"dilation a multiple of stride", make(1, 6, 6, {12, 1, 1}, {3, 1, 1}, {2, 1, 1}, none, none, {4, 1, 1})},
      {"dilation and stride share a factor", make(1, 4, 4, {9, 1, 1}, {5, 1, 1}, {6, 1, 1}, none, none, {4, 1, 1})},
      {"dilation coprime to stride", make(1, 4, 4, {9, 1, 1}, {5, 1, 1}, {3, 1, 1}, none, none, {2, 1, 1})},
      {"padding over kernel", make(1, 4, 4, {9, 1, 1}, {3, 1, 1}, {2, 1, 1}, {6, 0, 0})},
      {"groups", make(2, 12, 8, {5, 4, 1}, {3, 3, 1}, {2, 2, 1}, {1, 1, 0}, none, one, 4)},
      {"depthwise", make(2, 16, 16, {5, 4, 1}, {4, 4, 1}, {2, 2, 1}, {1, 1, 0}, none, one, 16)},
      {"depthwise with a multiplier", make(1, 6, 18, {15, 1, 1}, {3, 1, 1}, {2, 1, 1}, none, none, one, 6)},
      {"three axes", make(3, 8, 4, {3, 4, 2}, {3, 2, 4}, {2, 1, 3}, {1, 0, 1}, {1, 0, 2})},
      {"long row", make(1, 1, 32, {301, 1, 1}, {16, 1, 1}, {8, 1, 1}, {4, 0, 0})},
  };
  Problem uneven = make(2, 4, 5, {5, 6, 1}, {4, 3, 1}, {2, 3, 1});
  uneven.padding_lo = {2, 0, 0};
  uneven.padding_hi = {0, 3, 0};
  cases.push_back({"padding of one side", uneven});
  Problem extended = make(2, 4, 5, {5, 6, 1}, {3, 3, 1}, {2, 3, 1});
  extended.padding_lo = {-3, 1, 0};
  extended.padding_hi = {-4, -9, 0};
  cases.push_back({"extended outputs", extended});
  extended.bias = false;
  cases.push_back({"extended outputs without bias", extended});
  Problem beyond = make(1, 3, 2, {2, 1, 1}, {2, 1, 1}, {3, 1, 1});
  beyond.padding_lo = {-40, 0, 0};
  beyond.padding_hi = {4, 0, 0};
  cases.push_back({"hardly an output reached", beyond});
  return cases;
}

TEST(CpuTransposed, ComputesEveryCaseInBothLayouts) {
  for (Case& tested : transposed_cases()) {
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      SCOPED_TRACE(tested.name + (layout == Layout::contiguous ? "" : ", channels last"));
      tested.problem.layout = layout;
      expect_right(tested.problem, 3);
      expect_special_values_right(tested.problem, 5);
    }
  }
}

TEST(CpuTransposed, EveryReferenceComputesTheSame) {
  for (const Case& tested : transposed_cases()) {
    SCOPED_TRACE(tested.name);
    const Problem& problem = tested.problem;
    if (tested.name.starts_with("extended") || tested.name.starts_with("hardly") ||
        tested.name == "output padding below dilation") {
      EXPECT_THROW(static_cast<void>(cpu::references(problem)), Error);
      continue;
    }
    const CpuTensors tensors = draw_tensors(problem, 7);
    for (cpu::Reference& reference : cpu::references(problem)) {
      reference.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(reference, problem, tensors))) << reference.name();
    }
  }
}

}  // namespace
}  // namespace tapconv
