// Stands before kernels/tapconv/ptx.cuh where kernels are compiled as host code: the instructions that such kernels
// use. Those of shared memory are in ../instructions.cpp.
#pragma once

#include "tapconv/shared.cuh"
#include "tapconv/shared/wgmma.cuh"

namespace tapconv::emulation {

void wgmma(float* d, int columns, unsigned long long a, unsigned long long b, bool accumulate);
/// The same with the thread's share of the first operand in registers.
void wgmma(float* d, int columns, const unsigned* a, unsigned long long b, bool accumulate);
void cp_async(unsigned to, const void* from, int bytes, int read);
void wgmma_wait(int pending);

}  // namespace tapconv::emulation

namespace tapconv::ptx {

template <class T>
inline void forget(T&) {}
inline void keep(unsigned) {}
inline int uniform(int value) { return value; }
bool all_of_warp(bool condition);

// A binary16 is the binary32 whose exponent has another bias, subnormals too.
inline float cvt_f32_f16(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  const float value = magnitude < 0x7c00u ? __builtin_bit_cast(float, magnitude << 13) * 0x1p112f
                                          : __builtin_bit_cast(float, 0x7f800000u | (magnitude & 0x3ffu) << 13);
  return __builtin_bit_cast(float, __builtin_bit_cast(unsigned, value) | sign);
}

inline unsigned short cvt_rn_f16_f32(float value) {
  if (value != value) return 0x7fff;
  const unsigned bits = __builtin_bit_cast(unsigned, shared::round_to_fp16(value));
  const unsigned sign = bits & 0x80000000u, magnitude = bits ^ sign;
  const float moved = __builtin_bit_cast(float, magnitude) * 0x1p-112f;
  const unsigned half = magnitude == 0x7f800000u ? 0x7c00u : __builtin_bit_cast(unsigned, moved) >> 13;
  return static_cast<unsigned short>(sign >> 16 | half);
}

inline unsigned short cvt_rn_bf16_f32(float value) {
  if (value != value) return 0x7fff;
  return static_cast<unsigned short>(
      __builtin_bit_cast(unsigned, shared::round_operand(value, shared::Rounding::bf16)) >> 16);
}

inline unsigned cvt_rn_tf32_f32(float value) {
  return __builtin_bit_cast(unsigned, shared::round_operand(value, shared::Rounding::tf32_rn));
}

unsigned shared_address(const void* pointer);
unsigned char* dynamic_shared();
void barrier_sync(int number, int threads);
void barrier_arrive(int number, int threads);
float ld_shared(unsigned address);
void st_shared_v4(unsigned address, const unsigned (&values)[4]);
void mbarrier_init(unsigned barrier, unsigned arrivals);
inline void fence_mbarrier_init() {}
void mbarrier_arrive(unsigned barrier);
void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes);
void mbarrier_wait(unsigned barrier, unsigned parity);
unsigned mapa(unsigned address, unsigned rank);
void ld_shared_cluster_v4(float (&values)[4], unsigned address);
void mbarrier_arrive_cluster(unsigned barrier);
void mbarrier_wait_cluster(unsigned barrier, unsigned parity);
void cluster_sync();
void cp_async_bulk(unsigned to, const void* from, unsigned bytes, unsigned barrier);
void cp_async_mbarrier_arrive(unsigned barrier);
void cp_async_wait_all();
void fence_proxy_async();
void wgmma_fence();
void wgmma_commit_group();

template <int>
inline void setmaxnreg_inc() {}
template <int>
inline void setmaxnreg_dec() {}

template <int bytes>
inline void cp_async(unsigned to, const void* from, int read) {
  emulation::cp_async(to, from, bytes, read);
}

template <int pending>
inline void wgmma_wait_group() {
  emulation::wgmma_wait(pending);
}

template <int columns>
struct Wgmma {
  static void tf32(float (&d)[columns / 2], WgmmaDescriptor a, WgmmaDescriptor b, bool accumulate) {
    emulation::wgmma(d, columns, a.bits(), b.bits(), accumulate);
  }
  static void tf32(float (&d)[columns / 2], const unsigned (&a)[4], WgmmaDescriptor b, bool accumulate) {
    emulation::wgmma(d, columns, a, b.bits(), accumulate);
  }
};

}  // namespace tapconv::ptx
