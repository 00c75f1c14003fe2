// What a device's arithmetic sustains: chains of FFMA and of wgmma. Used to measure, never to compute.
#pragma once

#include "tapconv/ptx.cuh"
#include "tapconv/shared.cuh"

namespace tapconv {

// Each thread: `repeats` x 32 fused multiply-adds in 32 independent chains.
inline void ffma_chains(const shared::ChainArguments& arguments) {
  float sum[32];
  const float x = 1.0f + 1e-7f * threadIdx.x, y = 1e-7f * threadIdx.x;
#pragma unroll
  for (int i = 0; i < 32; ++i) sum[i] = float(i);
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
#pragma unroll
    for (int i = 0; i < 32; ++i) sum[i] = __fmaf_rn(sum[i], x, y);
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < 32; ++i) total += sum[i];
  if (total == -1.0f) *arguments.sink = total;  // never, but the compiler cannot know
}

enum class TensorType { tf32, bf16 };

// Each warpgroup: `repeats` x 8 wgmma of 64 x 128 on two tiles of seeded values in shared memory.
template <TensorType type>
inline void wgmma_chains(const shared::ChainArguments& arguments) {
  constexpr int tile_bytes = 8 * 6144;  // 8 steps of K: A 64 x 32 bytes and B 128 x 32 bytes each
  __shared__ __align__(128) unsigned char tiles[tile_bytes];
  for (int i = threadIdx.x; i < tile_bytes / 4; i += blockDim.x) {
    // Two bf16 numbers, or one TF32 number, of ordinary size: random data, since zeros draw less power.
    const float value = shared::seeded_value({.seed = 1, .values = shared::Values::signed_, .scale = 1, .keep = 1}, i);
    const unsigned bits = __float_as_uint(value);
    reinterpret_cast<unsigned*>(tiles)[i] = type == TensorType::bf16 ? (bits & 0xffff0000u) | bits >> 16 : bits;
  }
  ptx::fence_proxy_async();
  __syncthreads();
  float sum[64] = {};
  const unsigned base = ptx::shared_address(tiles);
  for (int repeat = 0; repeat < arguments.repeats; ++repeat) {
    ptx::wgmma_fence();
#pragma unroll
    for (int step = 0; step < 8; ++step) {
      const unsigned a = base + step * 6144, b = a + 2048;
      const unsigned long long a_tile = ptx::WgmmaDescriptor(a, 128, 256).bits(),
                               b_tile = ptx::WgmmaDescriptor(b, 128, 256).bits();
      if constexpr (type == TensorType::tf32)
        ptx::wgmma_m64n128k8_tf32(sum, a_tile, b_tile);
      else
        ptx::wgmma_m64n128k16_bf16(sum, a_tile, b_tile);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) total += sum[i];
  if (total == 12345.678f) *arguments.sink = total;  // hardly ever, but the compiler cannot know
}

}  // namespace tapconv
