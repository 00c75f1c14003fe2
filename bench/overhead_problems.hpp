#pragma once

#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::bench {

struct NamedProblem {
  std::string name;
  Problem problem;
};

/// Of every rank and kind that oneDNN takes by itself, from microseconds to a tenth of a second.
inline std::vector<NamedProblem> overhead_problems() {
  const auto make = [](Kind kind, int rank, std::int64_t batch, std::int64_t in, std::int64_t out, Extent input,
                       Extent kernel, std::int64_t stride = 1, std::int64_t padding = 0, std::int64_t groups = 1) {
    Problem p{.kind = kind, .rank = rank, .batch = batch, .in_channels = in, .out_channels = out};
    p.input = input;
    p.kernel = kernel;
    for (int axis = 0; axis < rank; ++axis) {
      p.stride[axis] = stride;
      p.padding_lo[axis] = p.padding_hi[axis] = padding;
    }
    p.groups = groups;
    return p;
  };
  constexpr Kind conv = Kind::convolution, transposed = Kind::transposed;
  std::vector<NamedProblem> all{
      {"tiny 3x3", make(conv, 2, 1, 8, 8, {10, 10, 1}, {3, 3, 1})},
      {"resnet 3x3", make(conv, 2, 1, 64, 64, {56, 56, 1}, {3, 3, 1}, 1, 1)},
      {"resnet stem 7x7", make(conv, 2, 1, 3, 64, {224, 224, 1}, {7, 7, 1}, 2, 3)},
      {"resnet pointwise", make(conv, 2, 1, 256, 64, {56, 56, 1}, {1, 1, 1})},
      {"large 5x7", make(conv, 2, 1, 64, 128, {128, 64, 1}, {5, 7, 1})},
      {"groups of 16 3x3", make(conv, 2, 1, 64, 128, {56, 56, 1}, {3, 3, 1}, 1, 1, 4)},
      {"depthwise 7x7", make(conv, 2, 1, 96, 96, {56, 56, 1}, {7, 7, 1}, 1, 3, 96)},
      {"1-D strided dilated", make(conv, 1, 1, 64, 128, {52428, 1, 1}, {3, 1, 1}, 3)},
      {"1-D depthwise", make(conv, 1, 1, 64, 64, {16384, 1, 1}, {7, 1, 1}, 1, 3, 64)},
      {"3-D 3x3x3", make(conv, 3, 1, 16, 32, {16, 32, 32}, {3, 3, 3}, 1, 1)},
      {"transposed 4x4", make(transposed, 2, 1, 64, 32, {32, 32, 1}, {4, 4, 1}, 2, 1)},
      {"transposed 1-D", make(transposed, 1, 1, 64, 32, {2048, 1, 1}, {8, 1, 1}, 4, 2)},
      {"transposed 3-D", make(transposed, 3, 1, 16, 16, {8, 16, 16}, {2, 2, 2}, 2)},
  };
  all[7].problem.dilation[0] = 4;
  Problem p = make(conv, 2, 1, 128, 128, {28, 28, 1}, {3, 3, 1}, 1, 1);
  p.layout = Layout::channels_last;
  all.push_back({"channels-last 3x3", p});
  p.activation = Activation::silu;
  p.residual = true;
  all.push_back({"channels-last 3x3 + residual, SiLU", p});
  p.residual = false;
  p.activation = Activation::relu;
  all.push_back({"channels-last 3x3 + ReLU", p});
  p.activation = Activation::none;
  p.dtype = p.out_dtype = DType::bfloat16;
  p.contract = Contract::bf16;
  all.push_back({"channels-last 3x3 bf16", p});
  p.dtype = p.out_dtype = DType::float16;
  p.contract = Contract::fp16;
  all.push_back({"channels-last 3x3 fp16", p});
  return all;
}

}  // namespace tapconv::bench
