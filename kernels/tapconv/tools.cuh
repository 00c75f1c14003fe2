// Small memory-bound kernels around a convolution: seeded fills, gathers, layout changes, bias.
#pragma once

#include "tapconv/numbers.cuh"

namespace tapconv {

// First element of this thread and the distance to its next: grid-stride, 64-bit.
inline long long first_element() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
inline long long element_step() { return (long long)gridDim.x * blockDim.x; }

// Calls body(pointer) with `memory` as what it is.
template <class Body>
inline void with_type(const void* memory, shared::Type type, Body body) {
  switch (type) {
    case shared::Type::float32:
      return body(static_cast<const float*>(memory));
    case shared::Type::float16:
      return body(static_cast<const Half*>(memory));
    case shared::Type::bfloat16:
      return body(static_cast<const Bfloat16*>(memory));
    case shared::Type::float64:
      return body(static_cast<const double*>(memory));
  }
}

inline void fill(const shared::FillArguments& arguments) {
  with_type(arguments.target, arguments.type, [&]<class T>(const T* memory) {
    T* const target = const_cast<T*>(memory);
    for (long long i = first_element(); i < arguments.places.count(); i += element_step())
      from_number(shared::seeded_value(arguments.recipe, i), target[arguments.places(i)]);
  });
}

inline void gather(const shared::GatherArguments& arguments) {
  with_type(arguments.source, arguments.type, [&]<class T>(const T* source) {
    for (long long i = first_element(); i < arguments.count; i += element_step()) {
      const T value = source[arguments.places(arguments.indices[i])];
      bool unwritten = true;
      for (unsigned byte = 0; byte < sizeof(T); ++byte)
        unwritten = unwritten && reinterpret_cast<const unsigned char*>(&value)[byte] == 0xff;
      arguments.values[i] = to_number(value);
      arguments.unwritten[i] = unwritten;
    }
  });
}

// Keeps the stream busy and all but one multiprocessor idle.
inline void hold(const shared::HoldArguments& arguments) {
  const unsigned long long start = ptx::globaltimer();
  while (static_cast<long long>(ptx::globaltimer() - start) < arguments.nanoseconds) {
  }
}

inline void add_bias(const shared::AddBiasArguments& arguments) {
  const long long count = arguments.outer * arguments.channels * arguments.inner;
  with_type(arguments.output, arguments.type, [&]<class T>(const T* memory) {
    T* const output = const_cast<T*>(memory);
    with_type(arguments.bias, arguments.bias_type, [&]<class Bias>(const Bias* bias) {
      for (long long i = first_element(); i < count; i += element_step())
        from_number(to_number(output[i]) + to_number(bias[i / arguments.inner % arguments.channels]), output[i]);
    });
  });
}

// Moves elements of the size of T. One 32 x 32 tile a block of 32 x 8 threads, through shared memory, so that reads and
// writes are both contiguous.
template <class T>
inline void transpose_elements(const shared::TransposeArguments& arguments) {
  const T* const source = static_cast<const T*>(arguments.source);
  T* const target = static_cast<T*>(arguments.target);
  __shared__ T tile[32][33];  // 33: a column crosses all banks
  const long long column_tiles = (arguments.columns + 31) / 32, row_tiles = (arguments.rows + 31) / 32;
  for (long long block = blockIdx.x; block < arguments.outer * row_tiles * column_tiles; block += gridDim.x) {
    const long long column = block % column_tiles * 32, row = block / column_tiles % row_tiles * 32;
    const long long base = block / column_tiles / row_tiles * arguments.rows * arguments.columns;
    for (int i = threadIdx.y; i < 32; i += 8) {
      if (row + i < arguments.rows && column + threadIdx.x < arguments.columns)
        tile[i][threadIdx.x] = source[base + (row + i) * arguments.columns + column + threadIdx.x];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < 32; i += 8) {
      if (column + i < arguments.columns && row + threadIdx.x < arguments.rows)
        target[base + (column + i) * arguments.rows + row + threadIdx.x] = tile[threadIdx.x][i];
    }
    __syncthreads();
  }
}

inline void transpose(const shared::TransposeArguments& arguments) {
  if (arguments.element_bytes == 2)
    transpose_elements<unsigned short>(arguments);
  else if (arguments.element_bytes == 4)
    transpose_elements<unsigned>(arguments);
  else
    transpose_elements<unsigned long long>(arguments);
}

}  // namespace tapconv
