// The `warpgroup` solver: an implicit GEMM on Hopper's tensor cores. First form, for filters of many taps, whose inputs
// are used often once they are there: both operands from shared memory. Second form, for few taps: pixels from
// registers, see warpgroup_registers.cuh.
//
// Mapping. The instruction multiplies 64 rows (M) by N columns over 8 channels of one tap. Rows are output channels and
// columns pixels, or the other way round where 64 channels would waste too much. Two warpgroups compute a tile: the
// same pixels and different channels, or the same channels and different pixels. Blocks are persistent: each takes
// every gridDim.x-th tile. Sums may have parts, each of some chunks; the blocks of a cluster can share them.
//
// Data flow. Inputs: global -> registers, rounded (split for 3xTF32) -> shared, by 96 threads of a third warpgroup;
// once for all taps. Weights: packed -> shared, by bulk copies of one thread of it. Both -> wgmma -> sums in registers
// (promoted: of a stage, then added to binary32 ones) -> shared, to make stores neighbours -> epilogue -> global.
//
// Shared memory, in units of 16 bytes (4 channels):
//   inputs   [stage][part][unit of a chunk][stored pixel]: a tap is a distance between stored pixels, see StoredAxis;
//            second form [stage][channel of a chunk][stored pixel], in elements
//   weights  [stage][pair][part][unit of 2][output channel]
//   staging  sums on their way to the output, see WarpgroupStore
//   sources  [stored pixel]: where it comes from, of the tile that is loaded
//   exchange [four sums][thread], of a part, where blocks share a tile
// 8 pixels, or 8 output channels, that follow each other are a core matrix of the instruction.
//
// Barriers. full: inputs, an arrival of each loader; weights, one arrival and the bytes. empty: an arrival of each of
// the 8 computing warps, when the instructions that read the stage have ended.
// Parts: warpgroup_parts.cuh. Named barriers: 1, 2 where a warpgroup stores, 3 of the loaders, 4, 5 of turns.
//
// Registers: 168 at the launch. What computing threads need more, the loaders give away.
#pragma once

#include "tapconv/warpgroup_load.cuh"
#include "tapconv/warpgroup_parts.cuh"
#include "tapconv/warpgroup_registers.cuh"
#include "tapconv/warpgroup_store.cuh"

namespace tapconv {

template <class Config>
struct Warpgroup : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Geometry, typename Base::Tile, typename Base::Tiles, typename Base::Part;
  using Load = WarpgroupLoad<Config>;
  using Registers = WarpgroupRegisters<Config>;
  using Store = WarpgroupStore<Config>;
  using Parts = WarpgroupParts<Config>;
  using Sums = typename Parts::Sums;
  using StageFragments = typename Registers::template Fragments<tile.pairs, 1>;

  using Descriptor = ptx::WgmmaDescriptor;

  // Pairs of barriers of a ring of stages.
  template <int stages>
  struct Barriers {
    unsigned address;

    static constexpr int bytes = 2 * stages * 8;
    unsigned full(int slot) const { return address + 8 * slot; }
    unsigned empty(int slot) const { return address + 8 * (stages + slot); }

    void init(unsigned arrivals) const {
      for (int slot = 0; slot < stages; ++slot) {
        ptx::mbarrier_init(full(slot), arrivals);
        ptx::mbarrier_init(empty(slot), computing_warps);
      }
    }
  };
  static constexpr int computing_warps = shared::warpgroup_computing / 32;
  using InputBarriers = Barriers<tile.input_stages>;
  using WeightBarriers = Barriers<tile.weight_stages>;
  static constexpr int barrier_bytes = InputBarriers::bytes + WeightBarriers::bytes + Parts::barrier_bytes;
  static_assert(barrier_bytes <= shared::warpgroup_barrier_bytes);

  static void run(const shared::Arguments& arguments) {
    __shared__ __align__(16) unsigned char barriers[barrier_bytes];
    const Geometry geometry{arguments.sizes};
    const Tiles all = Base::tiles(geometry);
    unsigned char* const memory = ptx::dynamic_shared();
    // Kept in registers: the compiler would find out the block's place in the shared window for each use.
    unsigned inputs = ptx::shared_address(memory), barrier = ptx::shared_address(barriers);
    ptx::forget(inputs);
    ptx::forget(barrier);
    const unsigned weights = inputs + unit * tile.input_stages * layout.input_stage;
    unsigned char* const after =
        memory + unit * (tile.input_stages * layout.input_stage + tile.weight_stages * layout.weight_stage);
    auto* const sources = reinterpret_cast<typename Load::Source*>(after + layout.staging_bytes);
    const InputBarriers of_inputs{barrier};
    const WeightBarriers of_weights{of_inputs.address + InputBarriers::bytes};
    const unsigned of_parts = of_weights.address + WeightBarriers::bytes;
    if (threadIdx.x == 0) {
      of_inputs.init(shared::warpgroup_loaders);
      of_weights.init(1);
      Parts::init(of_parts);
      ptx::fence_mbarrier_init();
    }
    Parts::meet();

    if (threadIdx.x < shared::warpgroup_computing) {
      ptx::setmaxnreg_inc<shared::computing_registers(tile)>();
      const int warp = ptx::uniform(threadIdx.x / 32);
      auto parts = Parts::adder(after + layout.staging_bytes + layout.sources_bytes, of_parts);
      compute(arguments, geometry, all, inputs, weights, of_inputs, of_weights, warp / 4, parts,
              reinterpret_cast<float*>(after) + warp / (Store::threads / 32) * (Store::channels * Store::pitch));
    } else {
      ptx::setmaxnreg_dec<shared::loading_registers(tile)>();
      const int thread = int(threadIdx.x) - shared::warpgroup_computing;
      if (thread < shared::warpgroup_loaders) {
        if constexpr (tile.from_registers)
          Registers::copy_inputs(arguments, geometry, all, inputs, of_inputs, sources, thread);
        else
          Load::load_inputs(arguments, geometry, all, inputs, of_inputs, sources, thread);
      } else if (thread == shared::warpgroup_loaders)
        Load::load_weights(arguments, all, weights, of_weights);
    }
  }
  static constexpr int unit = shared::warpgroup_unit_bytes;

  // Where the inputs of a tile and more fit, the warpgroups multiply in turns: one stores meanwhile.
  struct Turns {
    static constexpr bool there = shared::in_turns(shape, tile, layout);
    static constexpr int first_barrier = 4, threads = shared::warpgroup_computing;

    static void begin(int warpgroup, const Tiles& all) {
      if (there && warpgroup == 1 && Part{all}.exists()) ptx::barrier_arrive(first_barrier, threads);
    }
    static void take(int warpgroup) {
      if constexpr (there) ptx::barrier_sync(first_barrier + warpgroup, threads);
    }
    // Of the last one nobody needs to know.
    static void give(int warpgroup, Part part, const Tiles& all) {
      if constexpr (there) {
        part.advance();
        if (warpgroup == 0 || part.exists()) ptx::barrier_arrive(first_barrier + (warpgroup ^ 1), threads);
      }
    }
  };

  // Part 0 of a stage's operands, at the first segment and block of channels of a warpgroup: a descriptor, of pixels
  // that come from registers the address of what the thread reads. Distances are in units, of these in elements.
  static auto pixels_at(unsigned inputs, int slot) {
    const unsigned stage = inputs + unit * slot * layout.input_stage;
    if constexpr (tile.from_registers)
      return stage + 4 * Registers::place();
    else
      return Descriptor(stage, unit * layout.pixel_pitch, unit * layout.group_pitch);
  }
  static Descriptor channels_at(unsigned weights, int slot, int warpgroup) {
    const int first = tile.split_channels ? warpgroup * tile.channel_blocks * instruction_channels : 0;
    return ptx::WgmmaDescriptor(weights + unit * (slot * layout.weight_stage + first), unit * layout.block_channels,
                                unit * 8);
  }
  static constexpr int instruction_channels = tile.pixels_are_rows ? tile.columns : shared::warpgroup_rows;

  // From a stage's first pixel to a warpgroup's segment.
  static int segment_at(int warpgroup, int segment) {
    const int first = shared::stored_pixel(layout, shared::segment_place(tile, segment, 0));
    if constexpr (tile.split_channels) return first;
    return warpgroup == 0 ? first
                          : shared::stored_pixel(layout, shared::segment_place(tile, tile.segments + segment, 0));
  }

  // `pixels` is a descriptor or what the registers hold.
  template <class Pixels>
  static void multiply(float (&sums)[tile.columns / 2], const Pixels& pixels, Descriptor channels, bool accumulate) {
    if constexpr (tile.pixels_are_rows)
      ptx::Wgmma<tile.columns>::tf32(sums, pixels, channels, accumulate);
    else
      ptx::Wgmma<tile.columns>::tf32(sums, channels, pixels, accumulate);
  }

  // From part 0 of a chunk's first operands to those of a (tap, step) pair.
  static constexpr int pair_pixels(int pair) {
    return shared::tap_offset(layout, pair / tile.steps) +
           pair % tile.steps * (tile.from_registers ? 8 : 2) * layout.pixel_pitch;
  }

  // Whether all stages of a chunk are unrolled, so that the distances of taps are constants. Not where registers are
  // short: the compiler computes them long before they are needed.
  static constexpr bool unrolled =
      (!shared::is_promoted(tile) || tile.from_registers) &&
      layout.pairs * tile.segments * tile.channel_blocks * (shared::is_promoted(tile) ? 3 : 1) <= 32;

  // Whether pixels of a stage are read from shared memory while the stage before is multiplied.
  static constexpr bool fetches = tile.from_registers && !shared::is_promoted(tile);
  // Registers that an instruction reads are written when it has ended: of a stage's two halves one is rounded while the
  // other is multiplied.
  static constexpr int halves = tile.from_registers && tile.pairs > 1 ? 2 : 1;
  static constexpr int pairs_of_half = shared::ceil_divide(tile.pairs, halves);

  // `parts` is what Parts::adder() made.
  template <class Adder>
  static void compute(const shared::Arguments& arguments, const Geometry& geometry, const Tiles& all, unsigned inputs,
                      unsigned weights, const InputBarriers& of_inputs, const WeightBarriers& of_weights, int warpgroup,
                      Adder& parts, float* staging) {
    Ring<tile.input_stages> input;
    Ring<tile.weight_stages> weight;
    int segments[tile.segments];
#pragma unroll
    for (int s = 0; s < tile.segments; ++s) segments[s] = segment_at(warpgroup, s);

    Turns::begin(warpgroup, all);
    for (Part part{all}; part.exists(); part.advance()) {
      Turns::take(warpgroup);
      Sums sums;
      // Also so that their registers are free while parts are added: instructions read what they accumulate to.
      if constexpr (shared::is_promoted(tile) || tile.splits > 1) {
#pragma unroll
        for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
          for (int b = 0; b < tile.channel_blocks; ++b) {
#pragma unroll
            for (int i = 0; i < tile.columns / 2; ++i) sums[s][b][i] = 0;
          }
        }
      }
      [[maybe_unused]] typename Registers::template Fragments<pairs_of_half, tile.segments> fragments[halves];
      [[maybe_unused]] typename Registers::template Values<tile.pairs, tile.segments> values;  // of the next stage
      const auto fetch = [&](int number) {
        if constexpr (fetches) {
          if (number == 0) ptx::mbarrier_wait(of_inputs.full(input.slot), input.parity);
          with_pairs(number,
                     [&](int pairs) { load_values(values, pixels_at(inputs, input.slot), segments, number, pairs); });
          if (number + 1 < layout.stages) return;
          release(of_inputs, input.slot, true);
          input.advance();
        }
      };
      fetch(0);
      // Stages that instructions of the last group still read.
      int reading_weights = -1, reading_inputs = -1;
#pragma unroll 1
      for (int chunk = part.begin(); chunk < part.end(); ++chunk) {
        if constexpr (!fetches) ptx::mbarrier_wait(of_inputs.full(input.slot), input.parity);
        [[maybe_unused]] const auto pixels = pixels_at(inputs, input.slot);
        [[maybe_unused]] StageFragments promoted;
        if constexpr (shared::is_promoted(tile) && tile.from_registers) load_promoted(promoted, pixels, segments, 0, 0);
        const auto stage = [&](int number, int pairs) {
          ptx::mbarrier_wait(of_weights.full(weight.slot), Load::resident ? 0 : weight.parity);
          const Descriptor channels = channels_at(weights, weight.slot, warpgroup);
          if constexpr (shared::is_promoted(tile)) {
            add_promoted(sums, pixels, channels, segments, number, pairs, promoted);
            release(of_weights, weight.slot, !Load::resident);
          } else {
#pragma unroll
            for (int half = 0; half < halves; ++half) {
              // The last stage of a chunk may end within its first half.
              const int middle = pairs_of_half < pairs ? pairs_of_half : pairs;
              const int begin = half == 0 ? 0 : middle, end = half + 1 < halves ? middle : pairs;
              if constexpr (fetches) fragments[half].round(values, begin, end - begin);
              ptx::wgmma_fence();
#pragma unroll
              for (int p = begin; p < end; ++p) {
                const int pair = number * tile.pairs + p;
#pragma unroll
                for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
                  for (int b = 0; b < tile.channel_blocks; ++b) {
                    const auto multiply_by = [&](const auto& operand) {
                      multiply(sums[s][b], operand, channels + p * layout.pair + b * instruction_channels,
                               chunk - part.begin() + pair > 0);
                    };
                    if constexpr (fetches)
                      multiply_by(fragments[half].at[p - begin][s][0]);
                    else
                      multiply_by(pixels + segments[s] + pair_pixels(pair));
                  }
                }
              }
              ptx::wgmma_commit_group();
              if (half + 1 == halves && number + 1 < layout.stages)
                fetch(number + 1);
              else if (half + 1 == halves && chunk + 1 < part.end())
                fetch(0);
              constexpr int going_on = tile.from_registers && halves == 1 ? 0 : 1;
              ptx::wgmma_wait_group<going_on>();
              if constexpr (fetches) fragments[halves - 1 - half].keep();
              release(of_weights, reading_weights, !Load::resident && reading_weights >= 0);
              release(of_inputs, reading_inputs, reading_inputs >= 0);
              reading_weights = reading_inputs = -1;
            }
            reading_weights = weight.slot;
          }
          weight.advance();
        };
        if constexpr (unrolled) {
#pragma unroll
          for (int number = 0; number < layout.stages; ++number)
            stage(number, number + 1 < layout.stages ? tile.pairs : Load::last_pairs);
        } else {
#pragma unroll 1
          for (int number = 0; number + 1 < layout.stages; ++number) stage(number, tile.pairs);
          stage(layout.stages - 1, Load::last_pairs);
        }
        if constexpr (!fetches) {
          if constexpr (shared::is_promoted(tile))
            release(of_inputs, input.slot, true);
          else
            reading_inputs = input.slot;
          input.advance();
        }
      }
      Turns::give(warpgroup, part, all);
      if constexpr (!shared::is_promoted(tile)) {
        ptx::wgmma_wait_group<0>();
        if constexpr (fetches) fragments[halves - 1].keep();
        release(of_weights, reading_weights, !Load::resident);
        release(of_inputs, reading_inputs, reading_inputs >= 0);
      }
      parts.add(sums, part, [&](const typename Store::Sums& whole) {
        Store::store(whole, arguments, geometry, Base::tile_at(all, part.tile_index), warpgroup, staging);
      });
    }
    parts.end();
  }

  // The tensor core cuts off what it accumulates. Sums of a stage are short, and added to binary32 sums. All products
  // of the operands' parts but that of the two small ones: the small products first, while nothing large is cut off.
  // `fragments` are those of the first segment; then of what follows, if the chunk goes on.
  template <class Pixels>
  static void add_promoted(Sums& sums, const Pixels& pixels, Descriptor channels, const int (&segments)[tile.segments],
                           int number, int pairs, StageFragments& fragments) {
#pragma unroll
    for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
      for (int b = 0; b < tile.channel_blocks; ++b) {
        float part[tile.columns / 2];
        if constexpr (layout.chunks == 1) {
          // Without a loop, ptxas moves registers that nobody has written, and waits for the instructions that read
          // them.
#pragma unroll
          for (float& sum : part) sum = 0;
        }
        ptx::wgmma_fence();
#pragma unroll
        for (int p = 0; p < pairs; ++p) {
          const Descriptor of_channels = channels + p * layout.pair + b * instruction_channels;
          const auto multiply_by = [&](const auto& large, const auto& small) {
            multiply(part, large, of_channels + layout.pair_part, p > 0);
            multiply(part, small, of_channels, true);
            multiply(part, large, of_channels, true);
          };
          if constexpr (tile.from_registers) {
            multiply_by(fragments.at[p][0][0], fragments.at[p][0][1]);
          } else {
            const Descriptor large = pixels + segments[s] + pair_pixels(number * tile.pairs + p);
            multiply_by(large, large + layout.input_part);
          }
        }
        ptx::wgmma_commit_group();
        if constexpr (tile.from_registers) {
          const bool same_stage = s + 1 < tile.segments;
          if (same_stage || number + 1 < layout.stages) {
            StageFragments next;
            load_promoted(next, pixels, segments, same_stage ? s + 1 : 0, same_stage ? number : number + 1);
            ptx::wgmma_wait_group<0>();
            fragments.keep();
            fragments = next;
          } else {
            ptx::wgmma_wait_group<0>();
            fragments.keep();
          }
        } else {
          ptx::wgmma_wait_group<0>();
        }
#pragma unroll
        for (int i = 0; i < tile.columns / 2; ++i) sums[s][b][i] = add(sums[s][b][i], part[i]);
      }
    }
  }

  static void load_promoted(StageFragments& fragments, unsigned pixels, const int (&segments)[tile.segments],
                            int segment, int number) {
    with_pairs(number, [&](int pairs) {
      typename Registers::template Values<tile.pairs, 1> values;
      load_values(values, pixels, segments + segment, number, pairs);
      fragments.round(values, 0, pairs);
    });
  }

  // Those of a stage of the chunk, which has so many pairs.
  template <class Values>
  static void load_values(Values& values, unsigned pixels, const int* segments, int number, int pairs) {
    values.load(pairs, pixels, segments, [&](int p) { return pair_pixels(number * tile.pairs + p); });
  }

  // Calls `act` with how many pairs a stage of a chunk has, as a constant.
  template <class Act>
  static void with_pairs(int number, const Act& act) {
    if (Load::last_pairs == tile.pairs || number + 1 < layout.stages)
      act(tile.pairs);
    else
      act(Load::last_pairs);
  }

  // Of one lane of a warp.
  template <class Ring>
  static void release(const Ring& barriers, int slot, bool wanted) {
    if (wanted && threadIdx.x % 32 == 0) ptx::mbarrier_arrive(barriers.empty(slot));
  }

  static void pack(const shared::Arguments& arguments) { Load::pack(arguments); }
};

}  // namespace tapconv
