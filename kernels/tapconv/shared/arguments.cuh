// What kernels are called with.
#pragma once

#include "tapconv/shared/geometry.cuh"
#include "tapconv/shared/numerics.cuh"
#include "tapconv/shared/seeded.cuh"

namespace tapconv::shared {

// In the order of tapconv::DType.
enum class Type { float32, float16, bfloat16, float64 };

// The tensors of one convolution, in the types and with the strides that its kernel is compiled for.
struct Tensors {
  const void* input;
  const void* weight;    // as PyTorch has it, or as prepare() packed it
  const void* bias;      // null without
  const void* residual;  // null without
  void* output;
};

// Of every solver's kernel.
struct Arguments {
  Tensors tensors;
  Sizes sizes;
};

// A tensor of at most five axes, the last logical one fastest, wherever its elements lie.
struct Places {
  long long sizes[5], strides[5];  // absent leading axes: 1 and 0

  constexpr long long count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3] * sizes[4]; }

  // Where the element with linear logical index `index` lies, in elements.
  constexpr long long operator()(long long index) const {
    long long place = 0;
    for (int axis = 4; axis >= 0; --axis) {
      place += index % sizes[axis] * strides[axis];
      index /= sizes[axis];
    }
    return place;
  }
};

struct FillArguments {
  void* target;
  Type type;
  Places places;
  Recipe recipe;
};

// Values as fp64, and whether the element still has all bits set.
struct GatherArguments {
  const void* source;
  Type type;
  Places places;
  const long long* indices;
  long long count;
  double* values;
  bool* unwritten;
};

// One plain problem as the oracle reads it: the first stage.
struct OracleStage {
  bool transposed;
  Boundary boundary;
  long long in_channels, out_channels;  // of one group
  Axis axis[3];
  Strides input;
  WeightStrides weight;
};

struct OracleArguments {
  OracleStage stage;
  Tensors tensors;  // of the first stage; `residual` that of the last, `output` unused
  Type type;        // of the operands
  Type out_type;    // of the residual
  bool bias, residual;
  long long channels, extent[3];  // of the output: channels over all groups, D, H, W
  Strides output;                 // where its residual lies
  // The pointwise half of a depthwise separable problem; its channels are 0 for others.
  long long pointwise_channels, pointwise_strides[2];  // of the weight: along output and input channels
  const void* pointwise_weight;
  const void* pointwise_bias;
  Rounding rounding;
  const long long* outputs;  // linear logical indices of the outputs wanted
  long long count;
  struct OracleResult* results;
};

// See tapconv::OracleOutput; before the activation, and before the chain is rounded to the output's type.
struct OracleResult {
  double sum, magnitude, chain;
  long long products;
  bool may_overflow;
};

// Moves a dense tensor (outer, rows, columns) of elements of 2, 4 or 8 bytes to (outer, columns, rows).
struct TransposeArguments {
  const void* source;
  void* target;
  int element_bytes;
  long long outer, rows, columns;  // target[o][c][r] = source[o][r][c]
};

struct AddBiasArguments {
  void* output;
  const void* bias;
  Type type, bias_type;
  long long outer, channels, inner;  // output[o][c][i] += bias[c]
};

struct HoldArguments {
  long long nanoseconds;
};

struct ChainArguments {
  int repeats;
  float* sink;
};

}  // namespace tapconv::shared
