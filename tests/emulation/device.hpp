// What the device's compiler declares by itself, for kernels that the host's compiles: included before their first
// line. One thread runs at a time, see run.cpp.
#pragma once

#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __noinline__

struct uint3 {
  unsigned x, y, z;
};
struct __align__(16) ulonglong2 {
  unsigned long long x, y;
};

extern uint3 threadIdx, blockIdx, blockDim, gridDim;
void __syncthreads();
void __syncwarp();

template <class T>
inline T __ldg(const T* address) {
  return *address;
}

inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline double __dadd_rn(double x, double y) { return x + y; }

namespace tapconv {

inline float fabsf(float value) { return __builtin_fabsf(value); }
inline float exp(float value) { return __builtin_expf(value); }
inline double exp(double value) { return __builtin_exp(value); }
inline float erfc(float value) { return __builtin_erfcf(value); }
inline double erfc(double value) { return __builtin_erfc(value); }

}  // namespace tapconv
