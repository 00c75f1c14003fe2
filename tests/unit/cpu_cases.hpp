#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// The numbers of one plain convolution; entries beyond the rank are neutral.
struct CpuCase {
  std::string name;
  int rank;
  std::int64_t batch, in_channels, out_channels, groups;
  Extent input, kernel, stride{1, 1, 1}, padding_lo{0, 0, 0}, padding_hi{0, 0, 0}, dilation{1, 1, 1};
  bool bias = false;

  [[nodiscard]] Problem problem(Contract contract = Contract::fp32) const {
    return {.rank = rank,
            .batch = batch,
            .in_channels = in_channels,
            .out_channels = out_channels,
            .input = input,
            .kernel = kernel,
            .stride = stride,
            .padding_lo = padding_lo,
            .padding_hi = padding_hi,
            .dilation = dilation,
            .groups = groups,
            .bias = bias,
            .contract = contract};
  }
};

inline const std::vector<CpuCase>& cpu_cases() {
  constexpr Extent one{1, 1, 1}, none{0, 0, 0};
  static const std::vector<CpuCase> cases = {
      // 1-D
      {"1d_single", 1, 1, 1, 1, 1, {1, 1, 1}, one, one, none, none, one, true},
      {"1d_pointwise", 1, 2, 16, 32, 1, {50, 1, 1}, one},
      {"1d_pointwise_odd", 1, 1, 7, 5, 1, {33, 1, 1}, one, one, none, none, one, true},
      {"1d_kb76_small", 1, 2, 64, 128, 1, {131, 1, 1}, {3, 1, 1}, {3, 1, 1}, none, none, {4, 1, 1}},
      {"1d_k9_same", 1, 1, 16, 16, 1, {64, 1, 1}, {9, 1, 1}, one, {4, 0, 0}, {4, 0, 0}, one, true},
      {"1d_one_channel", 1, 1, 1, 32, 1, {100, 1, 1}, {9, 1, 1}},
      {"1d_to_one_channel", 1, 3, 64, 1, 1, {41, 1, 1}, {5, 1, 1}, one, {2, 0, 0}, {2, 0, 0}},
      {"1d_causal", 1, 1, 8, 8, 1, {40, 1, 1}, {4, 1, 1}, one, {6, 0, 0}, none, {2, 1, 1}, true},
      {"1d_right_padding", 1, 1, 8, 24, 1, {40, 1, 1}, {4, 1, 1}, one, none, {3, 0, 0}},
      {"1d_depthwise", 1, 1, 64, 64, 64, {97, 1, 1}, {7, 1, 1}, one, {3, 0, 0}, {3, 0, 0}, one, true},
      {"1d_depthwise_multiplier", 1, 2, 6, 18, 6, {45, 1, 1}, {3, 1, 1}, {2, 1, 1}, {1, 0, 0}, {1, 0, 0}},
      {"1d_groups_odd", 1, 1, 9, 15, 3, {37, 1, 1}, {5, 1, 1}, one, {1, 0, 0}, {2, 0, 0}, {2, 1, 1}, true},
      {"1d_stride_over_kernel", 1, 1, 8, 8, 1, {50, 1, 1}, {2, 1, 1}, {7, 1, 1}},
      {"1d_padding_over_kernel", 1, 1, 16, 16, 1, {9, 1, 1}, {2, 1, 1}, one, {5, 0, 0}, {7, 0, 0}, one, true},
      {"1d_kernel_is_input", 1, 2, 16, 16, 1, {11, 1, 1}, {11, 1, 1}},
      {"1d_dilation_spans_input", 1, 1, 4, 4, 1, {13, 1, 1}, {3, 1, 1}, one, none, none, {6, 1, 1}},
      // 2-D
      {"2d_single", 2, 1, 1, 1, 1, one, one},
      {"2d_pointwise", 2, 1, 64, 128, 1, {17, 19, 1}, one, one, none, none, one, true},
      {"2d_pointwise_strided", 2, 1, 32, 48, 1, {17, 19, 1}, one, {2, 3, 1}},
      {"2d_pointwise_padded", 2, 1, 16, 16, 1, {7, 5, 1}, one, one, {1, 2, 0}, {2, 1, 0}, one, true},
      {"2d_pointwise_wide_to_one", 2, 1, 130, 1, 1, {9, 9, 1}, one},
      {"2d_kb56_small", 2, 1, 64, 128, 1, {8, 10, 1}, {5, 7, 1}},
      {"2d_same", 2, 2, 32, 32, 1, {15, 14, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}, one, true},
      {"2d_odd_channels", 2, 2, 13, 17, 1, {21, 19, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}},
      {"2d_first_layer", 2, 1, 3, 64, 1, {33, 35, 1}, {7, 7, 1}, {2, 2, 1}, {3, 3, 0}, {3, 3, 0}, one, true},
      {"2d_first_layer_small", 2, 4, 3, 16, 1, {18, 18, 1}, {3, 3, 1}},
      {"2d_to_one_channel", 2, 1, 64, 1, 1, {16, 16, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}, one, true},
      {"2d_row_kernel", 2, 1, 16, 24, 1, {9, 31, 1}, {1, 5, 1}, one, {0, 2, 0}, {0, 2, 0}},
      {"2d_column_kernel", 2, 1, 16, 24, 1, {31, 9, 1}, {5, 1, 1}, one, {2, 0, 0}, {2, 0, 0}, one, true},
      {"2d_even_kernel", 2, 1, 8, 8, 1, {12, 12, 1}, {2, 4, 1}, one, {0, 1, 0}, {1, 2, 0}},
      {"2d_asymmetric", 2, 1, 16, 16, 1, {11, 13, 1}, {3, 3, 1}, {2, 1, 1}, {2, 0, 0}, {0, 1, 0}, one, true},
      {"2d_dilated", 2, 1, 16, 16, 1, {21, 23, 1}, {3, 3, 1}, one, {2, 3, 0}, {2, 3, 0}, {2, 3, 1}, true},
      {"2d_dilated_strided", 2, 1, 24, 8, 1, {25, 22, 1}, {3, 2, 1}, {3, 2, 1}, {1, 1, 0}, {1, 1, 0}, {3, 5, 1}},
      {"2d_stride_over_kernel", 2, 2, 16, 16, 1, {19, 17, 1}, {2, 2, 1}, {5, 4, 1}, none, none, one, true},
      {"2d_padding_over_kernel", 2, 1, 16, 16, 1, {4, 5, 1}, {2, 3, 1}, {2, 3, 1}, {7, 5, 0}, {4, 9, 0}, one, true},
      {"2d_only_padding", 2, 1, 8, 8, 1, {1, 1, 1}, {3, 3, 1}, {3, 3, 1}, {4, 4, 0}, {4, 4, 0}},
      {"2d_depthwise", 2, 1, 32, 32, 32, {19, 21, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}, one, true},
      {"2d_depthwise_odd", 2, 2, 33, 33, 33, {16, 15, 1}, {5, 5, 1}, {2, 2, 1}, {2, 2, 0}, {2, 2, 0}},
      {"2d_depthwise_dilated", 2, 1, 16, 16, 16, {16, 15, 1}, {3, 3, 1}, one, {2, 2, 0}, {2, 2, 0}, {2, 2, 1}},
      {"2d_depthwise_multiplier",
       2,
       1,
       32,
       128,
       32,
       {16, 17, 1},
       {5, 5, 1},
       {2, 2, 1},
       {2, 2, 0},
       {2, 2, 0},
       one,
       true},
      {"2d_depthwise_wide", 2, 1, 5, 5, 5, {40, 3, 1}, {31, 1, 1}, one, {15, 0, 0}, {15, 0, 0}},
      {"2d_groups", 2, 1, 64, 128, 4, {12, 13, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}, one, true},
      {"2d_groups_odd", 2, 2, 6, 9, 3, {14, 14, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}, one, true},
      {"2d_groups_pointwise", 2, 1, 24, 36, 6, {9, 8, 1}, one},
      {"2d_groups_to_one_each", 2, 1, 12, 4, 4, {9, 8, 1}, {3, 3, 1}, {2, 2, 1}, none, none, one, true},
      {"2d_large_kernel", 2, 1, 4, 4, 1, {40, 37, 1}, {31, 29, 1}, one, {1, 2, 0}, {3, 0, 0}},
      {"2d_many_channels", 2, 1, 512, 16, 1, {4, 3, 1}, {3, 3, 1}, one, {1, 1, 0}, {1, 1, 0}},
      {"2d_wide_row", 2, 1, 16, 16, 1, {1, 500, 1}, {1, 3, 1}},
      {"2d_batch", 2, 9, 5, 4, 1, {6, 7, 1}, {3, 3, 1}, one, none, none, one, true},
      // 3-D
      {"3d_single", 3, 1, 1, 1, 1, one, one, one, none, none, one, true},
      {"3d_pointwise", 3, 1, 16, 16, 1, {4, 5, 6}, one},
      {"3d_first_layer", 3, 1, 3, 64, 1, {7, 9, 11}, {3, 5, 7}},
      {"3d_same", 3, 2, 16, 32, 1, {5, 6, 7}, {3, 3, 3}, one, one, one, one, true},
      {"3d_asymmetric", 3, 1, 8, 8, 1, {5, 6, 7}, {2, 3, 2}, {1, 2, 3}, {1, 0, 2}, {0, 2, 1}, {1, 2, 1}, true},
      {"3d_strided_dilated", 3, 1, 5, 7, 1, {9, 9, 10}, {3, 2, 3}, {2, 2, 2}, one, one, {2, 3, 2}},
      {"3d_depthwise", 3, 1, 16, 16, 16, {6, 7, 8}, {3, 3, 3}, one, one, one, one, true},
      {"3d_depthwise_multiplier", 3, 1, 6, 12, 6, {6, 7, 8}, {3, 3, 3}, {2, 1, 2}, one, one},
      {"3d_groups", 3, 1, 32, 64, 4, {5, 6, 6}, {3, 3, 3}, one, one, one},
      {"3d_groups_odd", 3, 1, 9, 15, 3, {5, 6, 6}, {3, 3, 3}, one, {0, 1, 2}, {2, 1, 0}, one, true},
      {"3d_padding_over_kernel", 3, 1, 4, 4, 1, {2, 3, 2}, {2, 1, 2}, {3, 2, 2}, {3, 2, 4}, {5, 1, 3}, one, true},
  };
  return cases;
}

}  // namespace tapconv::testing
