// Small memory-bound kernels around a convolution: seeded fills, gathers, layout changes, bias.
#pragma once

#include "tapconv/shared.cuh"

namespace tapconv {

// First element of this thread and the distance to its next: grid-stride, 64-bit.
inline long long first_element() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
inline long long element_step() { return (long long)gridDim.x * blockDim.x; }

inline void fill(const shared::FillArguments& arguments) {
  for (long long i = first_element(); i < arguments.count; i += element_step())
    arguments.target[i] = shared::seeded_value(arguments.recipe, i);
}

inline void gather(const shared::GatherArguments& arguments) {
  for (long long i = first_element(); i < arguments.count; i += element_step())
    arguments.target[i] = arguments.source[arguments.indices[i]];
}

inline void add_bias(const shared::AddBiasArguments& arguments) {
  const long long count = arguments.outer * arguments.channels * arguments.inner;
  for (long long i = first_element(); i < count; i += element_step())
    arguments.output[i] += arguments.bias[i / arguments.inner % arguments.channels];
}

// One 32 x 32 tile a block of 32 x 8 threads, through shared memory, so that reads and writes are both contiguous.
inline void transpose(const shared::TransposeArguments& arguments) {
  __shared__ float tile[32][33];  // 33: a column crosses all banks
  const long long column_tiles = (arguments.columns + 31) / 32, row_tiles = (arguments.rows + 31) / 32;
  for (long long block = blockIdx.x; block < arguments.outer * row_tiles * column_tiles; block += gridDim.x) {
    const long long column = block % column_tiles * 32, row = block / column_tiles % row_tiles * 32;
    const long long base = block / column_tiles / row_tiles * arguments.rows * arguments.columns;
    for (int i = threadIdx.y; i < 32; i += 8) {
      if (row + i < arguments.rows && column + threadIdx.x < arguments.columns)
        tile[i][threadIdx.x] = arguments.source[base + (row + i) * arguments.columns + column + threadIdx.x];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
      if (column + i < arguments.columns && row + threadIdx.x < arguments.rows)
        arguments.target[base + (column + i) * arguments.rows + row + threadIdx.x] = tile[threadIdx.x][i];
    }
    __syncthreads();
  }
}

}  // namespace tapconv
