#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A valid problem that depends on `seed` alone: any rank, dense, grouped and depthwise, strides beyond the kernel,
/// padding, dilation, every contract; at most `max_flop` of work, which must be at least 2.
class RandomProblem {
 public:
  explicit RandomProblem(std::uint64_t seed) : generator_(seed) {}

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
    problem.tie_rule = uniform(0, 1) == 1 ? TieRule::even : TieRule::away;
    return problem;
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
    for (int axis = 0; axis < problem.rank; ++axis) {
      const auto padded = problem.input[axis] + problem.padding_lo[axis] + problem.padding_hi[axis];
      if (problem.dilation[axis] * (problem.kernel[axis] - 1) >= padded) return false;
    }
    return true;
  }

  std::mt19937_64 generator_;
};

inline Problem random_problem(std::uint64_t seed, double max_flop = 1e9) { return RandomProblem(seed).draw(max_flop); }

}  // namespace tapconv::testing
