#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "tapconv/error.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// Which problems to draw.
enum class Space {
  plain,  ///< convolutions of contiguous float32 tensors padded with zeros, without an epilogue
  whole,  ///< everything
};

/// A valid problem that depends on `seed` alone: any rank, dense, grouped and depthwise, strides beyond the kernel,
/// padding, dilation, every contract; at most `max_flop` of work, which must be at least 2.
class RandomProblem {
 public:
  RandomProblem(std::uint64_t seed, Space space) : generator_(seed), space_(space) {}

  Problem draw(double max_flop) {
    const int rank = uniform(1, max_rank);
    Ranges ranges;
    for (int attempt = 1;; ++attempt) {
      const Problem problem = draw(rank, ranges);
      if (is_valid(problem) && work(problem).flop <= max_flop) return problem;
      if (attempt % 16 == 0) ranges.halve();
    }
  }

 private:
  /// The largest value of each number.
  struct Ranges {
    int batch = 4;
    int channels = 24;
    int size = 19;
    int kernel = 5;
    int padding = 3;

    void halve() {
      for (int* range : {&batch, &channels, &size, &kernel}) *range = (*range + 1) / 2;
      padding /= 2;
    }
  };

  // Not std::uniform_int_distribution: its sequence differs between standard libraries.
  int uniform(int least, int most) { return least + static_cast<int>(generator_() % (most - least + 1)); }

  Problem draw(int rank, const Ranges& ranges) {
    Problem problem;
    problem.rank = rank;
    problem.batch = uniform(1, ranges.batch);
    draw_channels(problem, ranges.channels);
    for (int axis = 0; axis < rank; ++axis) {
      problem.input[axis] = uniform(1, ranges.size);
      problem.kernel[axis] = uniform(1, ranges.kernel);
      problem.stride[axis] = uniform(1, 4);
      problem.padding_lo[axis] = problem.padding_hi[axis] = uniform(0, ranges.padding);
      problem.dilation[axis] = uniform(1, 3);
    }
    problem.bias = uniform(0, 1) == 1;
    problem.contract = std::array{Contract::ieee, Contract::fp32, Contract::tf32}[uniform(0, 2)];
    if (problem.contract == Contract::tf32 && uniform(0, 1) == 1) problem.tie_rule = TieRule::even;
    if (space_ == Space::whole) widen(problem, ranges);
    return problem;
  }

  /// Turns a plain problem into one from anywhere in the space, more often than not valid.
  void widen(Problem& problem, const Ranges& ranges) {
    const int kind = uniform(0, 9);
    if (kind >= 4) problem.kind = kind == 9 ? Kind::depthwise_separable : Kind::transposed;
    if (kind < 4) problem.kind = Kind::convolution;
    for (int axis = 0; axis < problem.rank; ++axis) {
      if (uniform(0, 3) == 0) problem.padding_hi[axis] = uniform(-2, ranges.padding);
      if (uniform(0, 3) == 0) problem.padding_lo[axis] = uniform(-2, ranges.padding);
      if (problem.kind == Kind::transposed)
        problem.output_padding[axis] =
            uniform(0, static_cast<int>(std::max(problem.stride[axis], problem.dilation[axis])) - 1);
    }
    if (problem.kind == Kind::depthwise_separable) {
      problem.groups = 1;
      problem.depth_multiplier = uniform(1, 3);
    }
    if (problem.kind != Kind::transposed && uniform(0, 2) == 0)
      problem.padding_mode =
          std::array{PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}[uniform(0, 2)];
    if (uniform(0, 2) == 0) {
      problem.dtype = all_dtypes[uniform(0, 3)];
      problem.out_dtype =
          problem.dtype == DType::float64 || uniform(0, 1) == 0 ? problem.dtype : all_dtypes[uniform(0, 2)];
      problem.tie_rule = TieRule::away;
      do problem.contract = all_contracts[uniform(0, 5)];
      while (!applies_to(problem.contract, problem.dtype));
    }
    if (uniform(0, 3) == 0) problem.layout = Layout::channels_last;
    problem.residual = uniform(0, 3) == 0;
    if (uniform(0, 2) == 0) problem.activation = all_activations[uniform(0, 5)];
    if (problem.activation == Activation::leaky_relu) problem.negative_slope = uniform(-2, 6) / 8.0;
    if (uniform(0, 5) == 0) {
      problem.dynamic_batch = uniform(0, 1) == 1;
      for (int axis = 0; axis < problem.rank; ++axis) problem.dynamic_input[axis] = uniform(0, 1) == 1;
    }
  }

  void draw_channels(Problem& problem, int most) {
    const int kind = uniform(0, 2);
    if (kind == 0) {  // dense
      problem.in_channels = uniform(1, most);
      problem.out_channels = uniform(1, most);
    } else if (kind == 1) {  // depthwise with a multiplier
      problem.groups = problem.in_channels = uniform(1, most);
      problem.out_channels = problem.groups * uniform(1, most / static_cast<int>(problem.groups));
    } else {
      const int groups = uniform(1, std::min(most, 6));
      problem.groups = groups;
      problem.in_channels = groups * uniform(1, most / groups);
      problem.out_channels = groups * uniform(1, most / groups);
    }
  }

  static bool is_valid(const Problem& problem) {
    try {
      validate(problem);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  std::mt19937_64 generator_;
  Space space_;
};

/// Of Space::plain.
inline Problem random_problem(std::uint64_t seed, double max_flop = 1e9) {
  return RandomProblem(seed, Space::plain).draw(max_flop);
}

/// Of Space::whole.
inline Problem any_random_problem(std::uint64_t seed, double max_flop = 1e9) {
  return RandomProblem(seed, Space::whole).draw(max_flop);
}

}  // namespace tapconv::testing
