// Pixels as the instruction's register operand: they are copied to shared memory as they are, by every loader without
// registers of its own, and rounded by the threads that multiply them. For filters of few taps: the other form's
// loaders would work longer on an input than the tensor cores do.
//
// Shared memory of a stage: [channel][stored pixel], binary32.
#pragma once

#include "tapconv/warpgroup_load.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupRegisters : WarpgroupLoad<Config> {
  using Load = WarpgroupLoad<Config>;
  using Load::shape, Load::tile, Load::layout, Load::loaders, Load::none;
  using typename Load::Geometry, typename Load::Input, typename Load::Part, typename Load::Parts, typename Load::Source,
      typename Load::Tile, typename Load::Tiles;

  static constexpr int copied = shared::copied_pixels(shape, tile);  // at once
  static constexpr int bytes = copied * 4;
  static constexpr int lanes = layout.pixels / copied;  // copies of a channel
  static constexpr int rows = shared::ceil_divide(lanes, 32);
  static constexpr int warps = loaders / 32;
  static_assert(layout.pixels % copied == 0);

  // Copies the inputs of every tile, a stage for each chunk: a warp takes every third channel of 32 copies. As
  // WarpgroupLoad::load_inputs().
  template <class Barriers>
  static void copy_inputs(const shared::Arguments& arguments, const Geometry& geometry, const Tiles& all,
                          unsigned memory, const Barriers& barriers, Source* sources, int thread) {
    const shared::Strides strides = geometry.input_strides();
    const int lane = thread % 32, warp = ptx::uniform(thread / 32);
    Ring<tile.input_stages> ring;
    const Input* input = nullptr;  // of the tile's group and image
    bool enters = true;
    for (Part part{all}; part.exists(); enters = part.advance()) {
      if (enters) {
        const Tile at = Load::tile_at(all, part.tile_index);
        input = static_cast<const Input*>(arguments.tensors.input) + at.image * strides.outer +
                at.group * shape.in_channels * strides.inner;
        ptx::barrier_sync(loaders_barrier, loaders);  // nobody needs those of the tile before
#pragma unroll 1
        for (int i = thread; i < lanes; i += loaders) sources[i] = Load::source(geometry, at, i * copied);
        ptx::barrier_sync(loaders_barrier, loaders);
      }
#pragma unroll 1
      for (int chunk = part.begin(); chunk < part.end(); ++chunk) {
        ptx::mbarrier_wait(barriers.empty(ring.slot), ring.parity ^ 1);
        const unsigned stage = memory + shared::warpgroup_unit_bytes * ring.slot * layout.input_stage;
#pragma unroll 1
        for (int row = 0; row < rows; ++row) {
          const int i = row * 32 + lane;
          if (i >= lanes) continue;
          const Source source = sources[i];
          // An address that exists, also of what is not read.
          copy_channels(stage + bytes * i, input, source == none ? 0 : source, strides.inner, source != none, chunk,
                        (warp + row) % warps);
        }
        ptx::cp_async_mbarrier_arrive(barriers.full(ring.slot));
        ring.advance();
      }
    }
    ptx::cp_async_wait_all();
  }
  static constexpr int loaders_barrier = 3;

  static void copy_channels(unsigned to, const Input* input, long long source, long long inner, bool exists, int chunk,
                            int first) {
    constexpr int channels = 8 * tile.steps;
    const int begin = chunk * channels + first;
    const Input* from = input + source + begin * inner;
    to += 4 * first * layout.pixel_pitch;
#pragma unroll
    for (int c = 0; c < channels; c += warps) {
      if (c + warps > channels && first + c >= channels) break;
      if constexpr (shape.in_channels % channels == 0) {
        ptx::cp_async<bytes>(to + 4 * c * layout.pixel_pitch, from, exists ? bytes : 0);
      } else {
        const bool there = begin + c < shape.in_channels;
        ptx::cp_async<bytes>(to + 4 * c * layout.pixel_pitch, there ? from : input, exists && there ? bytes : 0);
      }
      from += warps * inner;
    }
  }

  // A thread's share of the pixels of some pairs, as they are: of a segment's 64 pixels x 8 channels those of rows
  // lane / 4 (and 8 further) of its warp's 16, and channels lane % 4 (and 4 further).
  template <int pairs, int segments>
  struct Values {
    float at[segments][pairs][4];
    bool ordinary;  // all of the warp's

    // `from` is the address of the thread's first one in a stage, see place(); `places` are those of the segments,
    // `offset(pair)` is the distance of a pair. When the warp goes on, it has read the stage.
    template <class Offset>
    void load(int count, unsigned from, const int* places, const Offset& offset) {
#pragma unroll
      for (int s = 0; s < segments; ++s) {
#pragma unroll
        for (int pair = 0; pair < count; ++pair) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            at[s][pair][i] = ptx::ld_shared(
                from + 4 * (places[s] + offset(pair) + i % 2 * layout.group_pitch + i / 2 * 4 * layout.pixel_pitch));
        }
      }
      float magnitude = 0;
#pragma unroll
      for (int s = 0; s < segments; ++s) {
#pragma unroll
        for (int pair = 0; pair < count; ++pair) {
          const auto& four = at[s][pair];
          magnitude += (fabsf(four[0]) + fabsf(four[1])) + (fabsf(four[2]) + fabsf(four[3]));
        }
      }
      ordinary = ptx::all_of_warp(magnitude < Load::large);
    }
  };

  // The same as an instruction reads them: rounded, in parts.
  template <int pairs, int segments>
  struct Fragments {
    unsigned at[pairs][segments][tile.parts][4];

    // Of `count` pairs from `first` on.
    template <class Values>
    void round(const Values& values, int first, int count) {
      if (values.ordinary)
        round_by(values, first, count, Load::ordinary_parts_of);
      else
        round_by(values, first, count, [](float value) {
          ptx::forget(value);  // not computed in any other case
          return Load::parts_of(value);
        });
    }

    // Until here instructions may read them.
    void keep() const {
#pragma unroll
      for (int pair = 0; pair < pairs; ++pair) {
#pragma unroll
        for (int segment = 0; segment < segments; ++segment) {
#pragma unroll
          for (int part = 0; part < tile.parts; ++part) {
#pragma unroll
            for (int i = 0; i < 4; ++i) ptx::keep(at[pair][segment][part][i]);
          }
        }
      }
    }

   private:
    template <class Values, class PartsOf>
    void round_by(const Values& values, int first, int count, const PartsOf& of) {
#pragma unroll
      for (int pair = 0; pair < count; ++pair) {
#pragma unroll
        for (int s = 0; s < segments; ++s) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const Parts parts = of(values.at[s][first + pair][i]);
#pragma unroll
            for (int part = 0; part < tile.parts; ++part) at[pair][s][part][i] = parts.at[part];
          }
        }
      }
    }
  };

  // From a stage's first element to the thread's first one of a segment that begins there.
  static int place() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    return 2 * warp * layout.group_pitch + lane / 4 * layout.axis[2].step + lane % 4 * layout.pixel_pitch;
  }
};

}  // namespace tapconv
