#include "problem/lowering.hpp"

#include <algorithm>

namespace tapconv {

bool TapAxis::inside() const {
  const auto [low, high] = std::minmax({offset(0), offset(taps - 1)});
  return low >= 0 && in_step * (grid - 1) + high < input;
}

std::vector<TapConvolution> lower(const Problem& problem) {
  TapConvolution result{.batch = problem.batch,
                        .groups = problem.groups,
                        .in_channels = problem.in_channels / problem.groups,
                        .out_channels = problem.out_channels / problem.groups,
                        .axis = {},
                        .bias = problem.bias};
  const Extent output = output_extent(problem);
  for (int i = 0; i < problem.rank; ++i) {
    result.axis[max_rank - problem.rank + i] = {.input = problem.input[i],
                                                .grid = output[i],
                                                .in_step = problem.stride[i],
                                                .taps = problem.kernel[i],
                                                .first_offset = -problem.padding_lo[i],
                                                .offset_step = problem.dilation[i],
                                                .kernel = problem.kernel[i],
                                                .output = output[i]};
  }
  return {result};
}

}  // namespace tapconv
