#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "problem/validity.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// One way to compute: operand type, contract, tie rule.
struct MatrixArithmetic {
  DType dtype;
  Contract contract;
  TieRule tie_rule = TieRule::away;
};

/// Every one that a problem can ask for.
inline std::vector<MatrixArithmetic> all_arithmetics() {
  std::vector<MatrixArithmetic> all;
  for (const DType dtype : all_dtypes) {
    for (const Contract contract : all_contracts) {
      if (!applies_to(contract, dtype)) continue;
      all.push_back({dtype, contract});
      if (contract == Contract::tf32) all.push_back({dtype, contract, TieRule::even});
    }
  }
  return all;
}

/// The combination's small problem: what the combination leaves open (channels, groups, boundary, epilogue, output
/// type) is drawn from `index`.
inline Problem matrix_problem(Kind kind, int rank, Layout layout, const MatrixArithmetic& arithmetic,
                              std::uint64_t index) {
  std::mt19937_64 generator(index);
  const auto uniform = [&](int least, int most) {
    return least + static_cast<int>(generator() % static_cast<std::uint64_t>(most - least + 1));
  };
  Problem p;
  do {
    p = {.kind = kind, .rank = rank, .batch = uniform(1, 3)};
    p.layout = layout;
    p.dtype = arithmetic.dtype;
    p.contract = arithmetic.contract;
    p.tie_rule = arithmetic.tie_rule;
    p.out_dtype = p.dtype == DType::float64 ? p.dtype : all_dtypes[uniform(0, 2)];
    // Dense, grouped, depthwise; multiples of four, which can be moved together, and odd numbers.
    const int groups = kind == Kind::depthwise_separable ? 0 : uniform(0, 2);
    const int in = std::array{8, 3, 5, 12}[uniform(0, 3)], out = std::array{16, 7, 4, 20}[uniform(0, 3)];
    p.groups = groups == 0 ? 1 : groups == 1 ? 2 : in;
    p.in_channels = groups == 2 ? in : in * p.groups;
    p.out_channels = groups == 2 ? in * uniform(1, 2) : out * p.groups;
    if (kind == Kind::depthwise_separable) p.depth_multiplier = uniform(1, 2);
    for (int axis = 0; axis < rank; ++axis) {
      p.input[axis] = rank == 1 ? uniform(20, 40) : uniform(6, 9);
      p.kernel[axis] = uniform(1, 3);
      p.stride[axis] = uniform(1, 3);
      p.dilation[axis] = uniform(1, 2);
      p.padding_lo[axis] = uniform(-1, 2);
      p.padding_hi[axis] = uniform(0, 1) == 0 ? p.padding_lo[axis] : uniform(-1, 2);
      if (kind == Kind::transposed) p.output_padding[axis] = uniform(0, 1);
    }
    if (kind != Kind::transposed)
      p.padding_mode = std::array{PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate,
                                  PaddingMode::circular}[uniform(0, 3)];
    p.bias = uniform(0, 1) == 1;
    p.residual = uniform(0, 1) == 1;
    p.activation = all_activations[uniform(0, 5)];
    if (p.activation == Activation::leaky_relu) p.negative_slope = uniform(-2, 6) / 8.0;
  } while (find_violation(p));
  return p;
}

/// A small problem for every combination of kind, rank, layout and arithmetic, each combination once. Always the same.
inline std::vector<Problem> problem_matrix() {
  std::vector<Problem> all;
  for (const Kind kind : {Kind::convolution, Kind::transposed, Kind::depthwise_separable}) {
    for (int rank = 1; rank <= max_rank; ++rank) {
      for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
        for (const MatrixArithmetic& arithmetic : all_arithmetics())
          all.push_back(matrix_problem(kind, rank, layout, arithmetic, all.size()));
      }
    }
  }
  return all;
}

}  // namespace tapconv::testing
