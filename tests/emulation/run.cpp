// Runs a kernel that the host's compiler made (device.hpp), so that sanitizers see its every access. The threads of a
// cluster of blocks are fibers of one host thread; each runs until it waits. Clusters run one after the other.
#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "device.hpp"
#include "fibers.hpp"
#include "launch.hpp"
#include "tapconv/ptx.cuh"

extern void (*const kernel)(tapconv::shared::Arguments);  // beside the kernel's source

uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

using tapconv::emulation::Launch;
using tapconv::emulation::Tensor;

using tapconv::emulation::fail;
using tapconv::emulation::progress;
using tapconv::emulation::yield;

struct Fiber {
  ucontext_t context{};
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(stack_bytes);
  static constexpr std::size_t stack_bytes = 1 << 17;
  bool ended = false;
};

// Where threads wait for each other.
struct Meeting {
  unsigned arrived = 0, times = 0;

  void arrive(unsigned threads) {
    progress();
    if (++arrived < threads) return;
    arrived = 0;
    ++times;
  }
  void meet(unsigned threads) {
    const unsigned time = times;
    arrive(threads);
    while (times == time) yield();
    progress();
  }
};

tapconv::shared::Arguments arguments;
ucontext_t scheduler;
Fiber* running = nullptr;
bool moved = false;  // anything, since the round began
Meeting of_cluster;
std::vector<Meeting> of_blocks, of_warps;
std::vector<bool> votes;                           // of warps, as far as their threads have voted
std::vector<std::array<Meeting, 16>> of_barriers;  // of a block

unsigned warps_of_block() { return blockDim.x / 32 + 1; }
unsigned my_rank() { return blockIdx.x % static_cast<unsigned>(of_blocks.size()); }
std::size_t my_warp() { return my_rank() * warps_of_block() + threadIdx.x / 32; }

void run_thread() {
  kernel(arguments);
  running->ended = true;
  progress();
}

// Every thread until it waits, again and again until all have ended. Their blocks are `first` and those behind it.
void run_cluster(std::vector<Fiber>& fibers, const Launch& launch, long long first) {
  for (Fiber& fiber : fibers) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = Fiber::stack_bytes;
    fiber.context.uc_link = &scheduler;
    makecontext(&fiber.context, run_thread, 0);
    fiber.ended = false;
  }
  const auto blocks = static_cast<unsigned>(launch.cluster);
  of_cluster = {};
  of_blocks.assign(blocks, {});
  of_warps.assign(blocks * warps_of_block(), {});
  votes.assign(of_warps.size(), true);
  of_barriers.assign(blocks, {});
  tapconv::emulation::begin_cluster(blocks, launch.dynamic_shared_bytes);
  std::vector<unsigned> left(blocks, blockDim.x);  // threads
  for (std::size_t ended = 0; ended < fibers.size();) {
    moved = false;
    for (std::size_t i = 0; i < fibers.size(); ++i) {
      const std::size_t thread = launch.reversed ? fibers.size() - 1 - i : i;
      if (fibers[thread].ended) continue;
      const auto rank = static_cast<unsigned>(thread) / blockDim.x;
      const long long block = first + rank;
      threadIdx = {static_cast<unsigned>(thread) % blockDim.x, 0, 0};
      blockIdx = {static_cast<unsigned>(block % launch.grid[0]), static_cast<unsigned>(block / launch.grid[0]), 0};
      running = &fibers[thread];
      swapcontext(&scheduler, &running->context);
      if (!running->ended) continue;
      ++ended;
      if (--left[rank] == 0) tapconv::emulation::end_block(rank);
    }
    if (!moved) fail("a deadlock: every thread of a block has ended or waits");
  }
}

// Memory that ends where the tensor ends.
struct Memory {
  std::unique_ptr<char[]> bytes;
  char* data = nullptr;
};

Memory read(std::FILE* file, const Tensor& tensor) {
  if (tensor.bytes == 0) return {};
  const auto size = static_cast<std::size_t>(tensor.bytes);
  Memory memory{.bytes = std::make_unique<char[]>(static_cast<std::size_t>(tensor.offset) + size)};
  memory.data = memory.bytes.get() + tensor.offset;
  if (std::fread(memory.data, 1, size, file) != size) fail("the launch ends early");
  return memory;
}

}  // namespace

void tapconv::emulation::fail(const char* what) {
  std::fprintf(stderr, "emulation: %s\n", what);
  std::exit(1);
}
void tapconv::emulation::yield() { swapcontext(&running->context, &scheduler); }
void tapconv::emulation::progress() { moved = true; }

void __syncthreads() { of_blocks[my_rank()].meet(blockDim.x); }
void __syncwarp() { of_warps[my_warp()].meet(32); }
bool tapconv::ptx::all_of_warp(bool condition) {
  votes[my_warp()] = true;
  __syncwarp();
  if (!condition) votes[my_warp()] = false;
  __syncwarp();
  const bool all = votes[my_warp()];
  __syncwarp();  // before another vote begins
  return all;
}
void tapconv::ptx::barrier_sync(int number, int threads) {
  of_barriers[my_rank()].at(static_cast<std::size_t>(number)).meet(static_cast<unsigned>(threads));
}
void tapconv::ptx::barrier_arrive(int number, int threads) {
  of_barriers[my_rank()].at(static_cast<std::size_t>(number)).arrive(static_cast<unsigned>(threads));
}
void tapconv::ptx::cluster_sync() { of_cluster.meet(static_cast<unsigned>(of_blocks.size()) * blockDim.x); }

void tapconv::emulation::run_file(const char* launch_name, const char* output_name) {
  std::FILE* file = std::fopen(launch_name, "rb");
  Launch launch;
  if (!file || std::fread(&launch, sizeof launch, 1, file) != 1) fail("the launch cannot be read");
  const Memory input = read(file, launch.input), weight = read(file, launch.weight), bias = read(file, launch.bias);
  const Memory residual = read(file, launch.residual), output = read(file, launch.output);
  std::fclose(file);
  const auto first = [](const Memory& memory, const Tensor& tensor) {
    return memory.data ? memory.data + tensor.first : nullptr;
  };
  arguments = {.tensors = {.input = first(input, launch.input),
                           .weight = first(weight, launch.weight),
                           .bias = first(bias, launch.bias),
                           .residual = first(residual, launch.residual),
                           .output = first(output, launch.output)},
               .sizes = launch.sizes};
  gridDim = {static_cast<unsigned>(launch.grid[0]), static_cast<unsigned>(launch.grid[1]), 1};
  blockDim = {static_cast<unsigned>(launch.threads), 1, 1};
  if (launch.grid[0] % launch.cluster != 0) fail("a row of blocks is no multiple of a cluster");
  std::vector<Fiber> fibers(static_cast<std::size_t>(launch.cluster * launch.threads));
  const long long clusters = launch.grid[0] * launch.grid[1] / launch.cluster;
  for (long long i = 0; i < clusters; ++i)
    run_cluster(fibers, launch, (launch.reversed ? clusters - 1 - i : i) * launch.cluster);
  std::FILE* result = std::fopen(output_name, "wb");
  const auto size = static_cast<std::size_t>(launch.output.bytes);
  if (!result || std::fwrite(output.data, 1, size, result) != size || std::fclose(result) != 0)
    fail("the output cannot be written");
}
