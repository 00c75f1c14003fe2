// PTX instructions as functions, named after the instruction. The only place where assembly is written.
#pragma once

#include "tapconv/shared/wgmma.cuh"

namespace tapconv::ptx {

// Address of a shared-memory object in the shared window.
inline unsigned shared_address(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

// Makes the compiler compute anew what depends on `value`.
inline void forget(long long& value) { asm volatile("" : "+l"(value)); }
template <class T>
inline void forget(const T*& value) {
  asm volatile("" : "+l"(value));
}
inline void forget(int& value) { asm volatile("" : "+r"(value)); }
inline void forget(unsigned& value) { asm volatile("" : "+r"(value)); }
inline void forget(float& value) { asm volatile("" : "+f"(value)); }

// Makes the compiler keep a register until here: it does not know that an instruction that was issued may still read
// it.
inline void keep(unsigned value) { asm volatile("" ::"r"(value) : "memory"); }

// A value that the whole warp has, told to the compiler.
inline int uniform(int value) { return __shfl_sync(~0u, value, 0); }

// Whether all threads of the warp, which meet here, say so.
inline bool all_of_warp(bool condition) { return __all_sync(~0u, condition); }

// Between binary32 and the 16-bit types, given as their bits; to nearest, ties to even.
inline float cvt_f32_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
inline unsigned short cvt_rn_f16_f32(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
inline unsigned short cvt_rn_bf16_f32(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// The bits of the nearest TF32 number, ties to even.
inline unsigned cvt_rn_tf32_f32(float value) {
  unsigned bits;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}

// Nanoseconds, by a clock of the device that ticks about every microsecond.
inline unsigned long long globaltimer() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

// The block's dynamic shared memory.
inline unsigned char* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char memory[];
  return memory;
}

// A number of shared memory.
inline float ld_shared(unsigned address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// 16 bytes to shared memory.
inline void st_shared_v4(unsigned address, const unsigned (&values)[4]) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(values[0]), "r"(values[1]),
               "r"(values[2]), "r"(values[3])
               : "memory");
}

// Waits for as many threads, whole warps, at one of the barriers 1 to 15.
inline void barrier_sync(int number, int threads) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Arrives there without waiting.
inline void barrier_arrive(int number, int threads) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// A barrier in shared memory whose phases end when `arrivals` threads have arrived and all expected bytes have come.
inline void mbarrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
inline void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
inline void mbarrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
inline void mbarrier_arrive_expect_tx(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits for the end of the last phase of this parity. (The thread sleeps a while in try_wait.)
inline void mbarrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again_%=;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// The address of what another block of the cluster has at this address of its shared memory.
inline unsigned mapa(unsigned address, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// 16 bytes of any block's shared memory; the address is one of mapa().
inline void ld_shared_cluster_v4(float (&values)[4], unsigned address) {
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address)
               : "memory");
}

// An arrival at a barrier of any block, with an address of mapa(): who waits for the phase with mbarrier_wait_cluster()
// sees what the thread wrote, and has written after what it read.
inline void mbarrier_arrive_cluster(unsigned barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
inline void mbarrier_wait_cluster(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again_%=;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// All threads of all blocks of the cluster meet.
inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
}

// Copies `bytes` (a multiple of 16, both addresses too) to shared memory; they count for the barrier.
inline void cp_async_bulk(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

// Copies `read` bytes (all of 4 or 16, whose multiple both addresses are, or none) to shared memory, and zeros in place
// of what it does not read. 16 bytes pass by the L1.
template <int bytes>
inline void cp_async(unsigned to, const void* from, int read) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
}
// The thread arrives when what it has copied so far is there.
inline void cp_async_mbarrier_arrive(unsigned barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
inline void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Changes the registers of every thread of the warpgroup.
template <int registers>
inline void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
inline void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// Makes ordinary writes to shared memory visible to the tensor cores and the copy engine.
inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
inline void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
inline void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// d (64 x columns) = A (64 x 8) * B (8 x columns), plus d if `accumulate`; TF32, of one warpgroup, both from shared
// memory, or A from registers. tf32() of the width that a kernel needs stands in its own translation unit.
template <int columns>
struct Wgmma;

// d += A (64 x 8) * B (8 x 128), TF32, of one warpgroup; both from shared memory.
inline void wgmma_m64n128k8_tf32(float (&d)[64], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b));
}

// d += A (64 x 16) * B (16 x 128), bf16, of one warpgroup; both from shared memory.
inline void wgmma_m64n128k16_bf16(float (&d)[64], unsigned long long a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
        "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]),
        "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]),
        "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]),
        "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]),
        "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
        "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b));
}

}  // namespace tapconv::ptx
