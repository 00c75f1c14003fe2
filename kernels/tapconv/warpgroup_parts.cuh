// How the parts of a sum come together: always the first, plus the second, and so on, in binary32, whoever computed
// them. So a block that computes all parts, where there are many tiles, and a cluster of blocks that compute one each,
// where there are few, leave the same bits.
#pragma once

#include "tapconv/warpgroup_tile.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupParts : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::tile;
  using typename Base::Part;
  // Of a thread: of one part, and what is stored, see WarpgroupTiles::Sums.
  using Sums = float[tile.segments][tile.channel_blocks][tile.columns / 2];
  using Whole = typename Base::Sums;
  static constexpr int segments = tile.segments, channel_blocks = tile.channel_blocks, registers = tile.columns / 2;

  // Adds nothing to any number, so that the first part needs no code of its own.
  static constexpr float nothing = -0.0f;

  // add() takes the sums of a part and calls store() with those of all, once they are there.
  struct Single {
    template <class Store>
    void add(const Sums& sums, const Part&, const Store& store) {
      store(sums);
    }
    void end() {}
  };

  struct InOneBlock {
    Sums totals;

    template <class Store>
    void add(const Sums& sums, const Part& part, const Store& store) {
#pragma unroll
      for (int s = 0; s < segments; ++s) {
#pragma unroll
        for (int b = 0; b < channel_blocks; ++b) {
#pragma unroll
          for (int i = 0; i < registers; ++i) {
            if (part.number == 0) totals[s][b][i] = nothing;
            totals[s][b][i] = tapconv::add(totals[s][b][i], sums[s][b][i]);
          }
        }
      }
      if (part.is_last()) store(totals);
    }
    void end() {}
  };

  // Each block writes its part to shared memory, and adds its share of the columns of all. A thread meets what threads
  // of its number wrote in the other blocks.
  struct InCluster {
    Vector<float, 4>* own;   // the thread's first four registers; the next four are those of all threads apart
    unsigned written, read;  // barriers: arrivals of all computing warps of the cluster
    unsigned parity = 0;

    static constexpr int fours = registers / 4, share_fours = fours / tile.cluster;
    static_assert(fours % tile.cluster == 0);
    // Blocks that are read at once: the compiler would read all before it adds, and run out of registers.
    static constexpr int most_together = 32 / (segments * channel_blocks * 4 * share_fours);
    static constexpr int ranks_together = most_together < 1 ? 1 : most_together;
    static constexpr int distance(int segment, int block, int four) {
      return ((segment * channel_blocks + block) * fours + four) * shared::warpgroup_computing;
    }

    template <class Store>
    void add(const Sums& sums, const Part& part, const Store& store) {
      ptx::mbarrier_wait_cluster(read, parity ^ 1);  // of the tile before
#pragma unroll
      for (int s = 0; s < segments; ++s) {
#pragma unroll
        for (int b = 0; b < channel_blocks; ++b) {
#pragma unroll
          for (int f = 0; f < fours; ++f)
            own[distance(s, b, f)] = {sums[s][b][4 * f], sums[s][b][4 * f + 1], sums[s][b][4 * f + 2],
                                      sums[s][b][4 * f + 3]};
        }
      }
      arrive(written);
      ptx::mbarrier_wait_cluster(written, parity);
      Whole whole;
#pragma unroll
      for (int s = 0; s < segments; ++s) {
#pragma unroll
        for (int b = 0; b < channel_blocks; ++b) {
#pragma unroll
          for (int i = 0; i < 4 * share_fours; ++i) whole[s][b][i] = nothing;
        }
      }
      const unsigned first = ptx::shared_address(own + distance(0, 0, part.number * share_fours));
#pragma unroll ranks_together
      for (int rank = 0; rank < tile.cluster; ++rank) {
        const unsigned from = ptx::mapa(first, rank);
#pragma unroll
        for (int s = 0; s < segments; ++s) {
#pragma unroll
          for (int b = 0; b < channel_blocks; ++b) {
#pragma unroll
            for (int f = 0; f < share_fours; ++f) {
              float values[4];
              ptx::ld_shared_cluster_v4(values, from + sizeof *own * distance(s, b, f));
#pragma unroll
              for (int i = 0; i < 4; ++i) whole[s][b][4 * f + i] = tapconv::add(whole[s][b][4 * f + i], values[i]);
            }
          }
        }
      }
      arrive(read);
      parity ^= 1;
      store(whole);
    }

    // A block's shared memory has to be there until it was read.
    void end() { ptx::mbarrier_wait_cluster(read, parity ^ 1); }

    // Of a warp, at the barrier of every block.
    static void arrive(unsigned barrier) {
      __syncwarp();
      const unsigned lane = threadIdx.x % 32;
      if (lane < tile.cluster) ptx::mbarrier_arrive_cluster(ptx::mapa(barrier, lane));
    }
  };

  // Of one thread of the block, at the beginning. Both of a cluster's blocks know that of each other when they have
  // met.
  static constexpr int barrier_bytes = tile.cluster > 1 ? 2 * 8 : 0;
  static void init(unsigned barriers) {
    if constexpr (tile.cluster > 1) {
      for (int i = 0; i < 2; ++i) ptx::mbarrier_init(barriers + 8 * i, tile.cluster * shared::warpgroup_computing / 32);
    }
  }
  static void meet() {
    if constexpr (tile.cluster > 1)
      ptx::cluster_sync();
    else
      __syncthreads();
  }

  // Of a computing thread. `exchange` is memory of WarpgroupLayout::exchange_bytes.
  static auto adder(unsigned char* exchange, unsigned barriers) {
    if constexpr (tile.splits == 1)
      return Single{};
    else if constexpr (tile.cluster == 1)
      return InOneBlock{};
    else
      return InCluster{reinterpret_cast<Vector<float, 4>*>(exchange) + threadIdx.x, barriers, barriers + 8};
  }
};

}  // namespace tapconv
