#include "problem_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace tapconv {
namespace {

TEST(ProblemMatrix, HoldsEveryCombinationOnce) {
  const std::vector<Problem> matrix = testing::problem_matrix();
  std::set<std::tuple<Kind, int, Layout, DType, Contract, TieRule>> combinations;
  for (const Problem& p : matrix) {
    validate(p);
    combinations.emplace(p.kind, p.rank, p.layout, p.dtype, p.contract, p.tie_rule);
  }
  // float32: ieee, fp32, tf32 in two ways; 16-bit types: their own, ieee, fp32; float64: its own.
  EXPECT_EQ(11u, testing::all_arithmetics().size());
  EXPECT_EQ(3u * 3 * 2 * 11, matrix.size());
  EXPECT_EQ(matrix.size(), combinations.size());
}

TEST(ProblemMatrix, VariesWhatTheCombinationsLeaveOpen) {
  const std::vector<Problem> matrix = testing::problem_matrix();
  const auto count = [&](auto&& has) { return std::ranges::count_if(matrix, has); };
  for (const Kind kind : {Kind::convolution, Kind::transposed, Kind::depthwise_separable}) {
    const auto of_kind = [&](auto&& has) { return count([&](const Problem& p) { return p.kind == kind && has(p); }); };
    EXPECT_GE(of_kind([](const Problem& p) { return p.residual && p.bias; }), 8);
    EXPECT_GE(of_kind([](const Problem& p) { return p.out_dtype != p.dtype; }), 20);
    EXPECT_GE(of_kind([](const Problem& p) { return p.in_channels / p.groups % 4 == 0; }), 8);
    EXPECT_GE(of_kind([](const Problem& p) { return p.in_channels / p.groups % 4 != 0; }), 8);
    EXPECT_GE(of_kind([](const Problem& p) { return p.padding_lo != p.padding_hi; }), 8);
    for (const Activation activation : all_activations)
      EXPECT_GE(of_kind([&](const Problem& p) { return p.activation == activation; }), 4) << name(activation);
    if (kind != Kind::transposed) {
      for (const PaddingMode mode :
           {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular})
        EXPECT_GE(of_kind([&](const Problem& p) { return p.padding_mode == mode; }), 8) << name(mode);
    }
    if (kind != Kind::depthwise_separable) {
      EXPECT_GE(of_kind([](const Problem& p) { return p.groups > 1 && p.groups == p.in_channels; }), 8);
      EXPECT_GE(of_kind([](const Problem& p) { return p.groups > 1 && p.groups < p.in_channels; }), 8);
    }
  }
}

}  // namespace
}  // namespace tapconv
