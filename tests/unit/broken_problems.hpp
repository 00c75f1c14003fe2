#pragma once

#include <string>

#include "tapconv/diagnosis.hpp"

namespace tapconv::testing {

/// Problems of many kinds; a fault names those that can have it.
inline constexpr const char* conv1d = "Conv1d(6, 5, 5, padding=2) @ 3x6x23";
inline constexpr const char* strided1d =
    "Conv1d(4, 7, 3, stride=3, dilation=4, padding=((3, 1),), bias=False) @ 2x4x61";
inline constexpr const char* conv2d = "Conv2d(5, 6, 3, padding=1) @ 2x5x11x9";
inline constexpr const char* uneven2d =
    "Conv2d(6, 4, (3, 2), stride=(2, 1), padding=((2, 0), (0, 1)), dilation=(1, 2)) @ 2x6x13x12";
inline constexpr const char* last2d = "Conv2d(8, 6, 3, padding=1, dtype=float16, layout=channels_last) @ 2x8x9x10";
inline constexpr const char* grouped2d = "Conv2d(8, 12, (3, 3), padding=1, groups=4) @ 2x8x9x10";
inline constexpr const char* conv3d =
    "Conv3d(3, 4, (2, 3, 3), padding=(1, 1, 0), dtype=bfloat16, out_dtype=float32) @ 1x3x6x7x8";
inline constexpr const char* double2d = "Conv2d(4, 5, (4, 3), padding=(2, 1), dtype=float64) @ 2x4x9x8";
inline constexpr const char* transposed1d = "ConvTranspose1d(5, 4, 4, stride=2, padding=1) @ 2x5x17";
inline constexpr const char* transposed2d =
    "ConvTranspose2d(4, 6, (3, 4), stride=(2, 3), padding=(1, 0), output_padding=(1, 2)) @ 2x4x6x7";
inline constexpr const char* separable2d = "DepthwiseSeparable2d(5, 7, 3, padding=1, depth_multiplier=2) @ 2x5x9x8";
inline constexpr const char* fused2d = "Conv2d(5, 6, 3, padding=1, activation=relu, residual=True) @ 2x5x9x10";
inline constexpr const char* gelu1d = "Conv1d(6, 5, 3, padding=1, activation=gelu, residual=True) @ 3x6x29";

/// Half of its outputs are met by no tap.
inline constexpr const char* barely_reached =
    "ConvTranspose2d(1, 7, (2, 4), stride=(2, 4), padding=((2, 1), (3, 3)), output_padding=(0, 1), bias=False, "
    "dilation=(2, 3), math=tf32, rounding=rn) @ 3x1x2x7";

inline std::string said(const Diagnosis& d) {
  std::string text = d.cause + ": " + d.sentence + " (also";
  for (const std::string& other : d.also) text += " " + other;
  return text + ")";
}

}  // namespace tapconv::testing
