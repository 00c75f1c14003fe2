// Shared memory and the instructions that work on it: barriers, bulk copies, the tensor core of a warpgroup.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "device.hpp"
#include "fibers.hpp"
#include "tapconv/ptx.cuh"

namespace tapconv::emulation {
namespace {

// The shared window: dynamic memory, then a range for each static object whose address was taken. Addresses of mapa()
// have one more than the block's rank in the cluster before them.
constexpr unsigned dynamic_begin = 1024, static_begin = 1 << 18, static_bytes = 1 << 12, rank_shift = 24;

struct Block {
  std::unique_ptr<unsigned char[]> dynamic;
  std::vector<std::unique_ptr<unsigned char[]>> statics;  ///< in place of the objects, which all blocks would share
};
std::vector<Block> blocks;  ///< of the cluster
unsigned dynamic_bytes = 0;
std::vector<unsigned char*> statics;

unsigned my_rank() { return blockIdx.x % static_cast<unsigned>(blocks.size()); }

/// Memory that ends where the block's does, so that sanitizers see what reads beyond it.
unsigned char* at(unsigned address) {
  Block& block = blocks.at(address >> rank_shift ? (address >> rank_shift) - 1 : my_rank());
  if (!block.dynamic) fail("an access to shared memory of a block that has ended");
  address &= (1u << rank_shift) - 1;
  if (address >= static_begin) {
    const std::size_t object = (address - static_begin) / static_bytes;
    if (blocks.size() == 1) return statics.at(object) + address % static_bytes;
    while (block.statics.size() <= object) block.statics.push_back(std::make_unique<unsigned char[]>(static_bytes));
    return block.statics[object].get() + address % static_bytes;
  }
  if (address < dynamic_begin) fail("an address before dynamic shared memory");
  return block.dynamic.get() + (address - dynamic_begin);
}

/// What an mbarrier's 64 bits hold.
struct Barrier {
  std::int32_t bytes;           ///< expected, less those that came
  std::uint32_t arrivals : 15;  ///< of a phase
  std::uint32_t pending : 15;
  std::uint32_t parity : 1;  ///< of the phase that goes on
};
static_assert(sizeof(Barrier) == 8);

Barrier& barrier_at(unsigned address) { return *reinterpret_cast<Barrier*>(at(address)); }

void end_phase_if_complete(Barrier& barrier) {
  progress();
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.parity ^= 1;
  barrier.pending = barrier.arrivals;
}

struct Instruction {
  float* d;
  int columns;
  unsigned long long a;
  const unsigned* registers;  ///< of the thread, in place of `a`; else null
  unsigned long long b;
  bool accumulate;
};

struct Copy {
  unsigned to;
  const void* from;
  int bytes, read;
};

/// Of a thread: what it has issued and what it has to fence.
struct Issued {
  bool fenced = false;             ///< since it last waited
  bool writes_are_visible = true;  ///< to the tensor core
  std::vector<Instruction> open;
  std::vector<std::vector<Instruction>> groups;
  std::vector<Copy> copies;  ///< that have not come yet
};
std::vector<Issued> threads;

Issued& mine() { return threads[my_rank() * blockDim.x + threadIdx.x]; }

using Row = std::array<float, 8>;

/// What the tensor core sees of a number.
float seen(unsigned bits) { return __builtin_bit_cast(float, bits & ~0x1fffu); }

/// A row of an operand in shared memory: core matrices of 8 rows and 16 bytes.
Row row_at(unsigned long long descriptor, int row) {
  const auto field = [descriptor](int shift) { return static_cast<unsigned>(descriptor >> shift & 0x3fffu) * 16; };
  const unsigned first = field(0) + static_cast<unsigned>(row / 8) * field(32) + static_cast<unsigned>(row % 8 * 16);
  Row result;
  for (unsigned unit = 0; unit < 2; ++unit) {
    unsigned bits[4];
    std::memcpy(bits, at(first + unit * field(16)), sizeof bits);
    for (unsigned k = 0; k < 4; ++k) result[4 * unit + k] = seen(bits[k]);
  }
  return result;
}

/// The thread's own part of the result of an instruction of a group.
void execute(std::size_t group, std::size_t number) {
  const Instruction& i = mine().groups[group][number];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32 % 4);
  // Of a row that comes from registers four threads have two channels each.
  const auto from_registers = [&](int half) {
    Row result;
    for (int k = 0; k < 8; ++k) {
      const Issued& there = (&mine() - lane % 4)[k % 4];
      result[static_cast<std::size_t>(k)] = seen(there.groups.at(group).at(number).registers[half + k / 4 * 2]);
    }
    return result;
  };
  Row rows[2];
  for (int half = 0; half < 2; ++half)
    rows[half] = i.registers ? from_registers(half) : row_at(i.a, 16 * warp + lane / 4 + 8 * half);
  for (int j = 0; j < i.columns / 8; ++j) {
    for (int e = 0; e < 2; ++e) {
      const Row column = row_at(i.b, 8 * j + 2 * (lane % 4) + e);
      for (int half = 0; half < 2; ++half) {
        float& d = i.d[4 * j + 2 * half + e];
        double sum = i.accumulate ? d : 0;
        for (std::size_t k = 0; k < 8; ++k) sum += double{rows[half][k]} * column[k];
        d = static_cast<float>(sum);
      }
    }
  }
}

}  // namespace

void begin_cluster(unsigned count, int bytes) {
  dynamic_bytes = static_cast<unsigned>(bytes);
  blocks.clear();
  blocks.resize(count);
  // Nothing is there yet.
  for (Block& block : blocks) {
    block.dynamic = std::make_unique<unsigned char[]>(dynamic_bytes);
    std::memset(block.dynamic.get(), 0xff, dynamic_bytes);
  }
  threads.assign(count * blockDim.x, {});
}

void end_block(unsigned rank) {
  for (unsigned thread = rank * blockDim.x; thread < (rank + 1) * blockDim.x; ++thread) {
    if (!threads[thread].open.empty() || !threads[thread].groups.empty() || !threads[thread].copies.empty())
      fail("a thread ended before its instructions");
  }
  blocks[rank].dynamic = nullptr;
}

void issue(const Instruction& instruction) {
  if (!mine().fenced) fail("wgmma without a fence after its registers were read");
  mine().open.push_back(instruction);
}

void wgmma(float* d, int columns, unsigned long long a, unsigned long long b, bool accumulate) {
  issue({d, columns, a, nullptr, b, accumulate});
}

void wgmma(float* d, int columns, const unsigned* a, unsigned long long b, bool accumulate) {
  issue({d, columns, 0, a, b, accumulate});
}

void cp_async(unsigned to, const void* from, int bytes, int read) {
  if (to % static_cast<unsigned>(bytes) != 0 ||
      reinterpret_cast<std::uintptr_t>(from) % static_cast<std::uintptr_t>(bytes) != 0)
    fail("cp.async of addresses that are no multiple of its bytes");
  mine().copies.push_back({to, from, bytes, read});
}

/// As late as can be: when the thread waits for them, or arrives by them.
void end_copies() {
  for (const Copy& copy : mine().copies) {
    std::memset(at(copy.to), 0, static_cast<std::size_t>(copy.bytes));
    std::memcpy(at(copy.to), copy.from, static_cast<std::size_t>(copy.read));
  }
  mine().copies.clear();
}

// Executed as late as can be, so that operands that are overwritten too early are seen. An instruction of the whole
// warp: no thread begins, and none goes on, before all have come.
void wgmma_wait(int pending) {
  Issued& all = mine();
  __syncwarp();
  const int ending = std::max(static_cast<int>(all.groups.size()) - pending, 0);
  for (int group = 0; group < ending; ++group) {
    for (std::size_t i = 0; i < all.groups[group].size(); ++i) execute(static_cast<std::size_t>(group), i);
  }
  __syncwarp();
  all.groups.erase(all.groups.begin(), all.groups.begin() + ending);
  all.fenced = false;
}

}  // namespace tapconv::emulation

namespace tapconv::ptx {

using namespace emulation;

unsigned shared_address(const void* pointer) {
  auto* const byte = static_cast<unsigned char*>(const_cast<void*>(pointer));
  const unsigned char* const dynamic = dynamic_shared();
  if (byte >= dynamic && byte < dynamic + dynamic_bytes) return dynamic_begin + static_cast<unsigned>(byte - dynamic);
  for (std::size_t i = 0; i < statics.size(); ++i) {
    if (statics[i] == byte) return static_begin + static_cast<unsigned>(i) * static_bytes;
  }
  statics.push_back(byte);
  return static_begin + static_cast<unsigned>(statics.size() - 1) * static_bytes;
}

unsigned char* dynamic_shared() { return blocks[my_rank()].dynamic.get(); }

float ld_shared(unsigned address) {
  float value;
  std::memcpy(&value, at(address), sizeof value);
  return value;
}
void st_shared_v4(unsigned address, const unsigned (&values)[4]) {
  if (address % 16 != 0) fail("st.shared.v4 of an address that is no multiple of 16");
  std::memcpy(at(address), values, 16);
  mine().writes_are_visible = false;
}

void fence_proxy_async() { mine().writes_are_visible = true; }

void mbarrier_init(unsigned barrier, unsigned arrivals) {
  barrier_at(barrier) = {.bytes = 0, .arrivals = arrivals, .pending = arrivals, .parity = 0};
}

void mbarrier_arrive(unsigned address) {
  if (!mine().writes_are_visible) fail("a thread arrives whose writes no fence made visible");
  mbarrier_arrive_cluster(address);
}

void mbarrier_arrive_cluster(unsigned address) {
  Barrier& barrier = barrier_at(address);
  if (barrier.pending == 0) fail("more arrivals at a barrier than it was made for");
  --barrier.pending;
  end_phase_if_complete(barrier);
}

void mbarrier_arrive_expect_tx(unsigned address, unsigned bytes) {
  barrier_at(address).bytes += static_cast<int>(bytes);
  mbarrier_arrive(address);
}

void mbarrier_wait(unsigned address, unsigned parity) {
  while (barrier_at(address).parity == parity) yield();
  progress();
}

void mbarrier_wait_cluster(unsigned address, unsigned parity) { mbarrier_wait(address, parity); }

unsigned mapa(unsigned address, unsigned rank) {
  if (rank >= blocks.size()) fail("mapa of a block that the cluster does not have");
  return address | (rank + 1) << rank_shift;
}

void ld_shared_cluster_v4(float (&values)[4], unsigned address) {
  if (address % 16 != 0) fail("ld.shared.v4 of an address that is no multiple of 16");
  std::memcpy(values, at(address), 16);
}

void cp_async_bulk(unsigned to, const void* from, unsigned bytes, unsigned address) {
  if (to % 16 != 0 || bytes % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    fail("a bulk copy that is not aligned to 16 bytes");
  std::memcpy(at(to), from, bytes);
  Barrier& barrier = barrier_at(address);
  barrier.bytes -= static_cast<int>(bytes);
  end_phase_if_complete(barrier);
}

void cp_async_mbarrier_arrive(unsigned barrier) {
  end_copies();
  mbarrier_arrive_cluster(barrier);
}

void cp_async_wait_all() { end_copies(); }

void wgmma_fence() { mine().fenced = true; }

void wgmma_commit_group() {
  mine().groups.push_back(std::move(mine().open));
  mine().open.clear();
}

}  // namespace tapconv::ptx
