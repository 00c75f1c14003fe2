// How a warpgroup kernel's sums leave: a unit at a time, through shared memory, so that lanes store what lies together.
#pragma once

#include "tapconv/warpgroup_exact.cuh"

namespace tapconv {

template <class Config>
struct WarpgroupStore : WarpgroupTiles<Config> {
  using Base = WarpgroupTiles<Config>;
  using Base::first_column, Base::is_channel, Base::share;
  using Base::shape, Base::tile, Base::layout;
  using typename Base::Geometry, typename Base::Place, typename Base::Sums, typename Base::Tile;
  using Output = typename Config::Output;
  using Epilogue = tapconv::Epilogue<Config>;
  using Channel = shared::ForwardChannel;
  using Exact = WarpgroupExact<Config>;

  // A unit: the output channels and pixels, of one segment and block of channels, that `threads` threads store at once.
  // Where channels are rows of the instruction, a warp's 8 channels of up to 128 pixels; else a warpgroup's 32 channels
  // of 64 pixels. A unit is staged as [channel][pixel], a channel's bias behind its pixels.
  static constexpr bool whole_group = tile.pixels_are_rows;
  static constexpr int threads = whole_group ? 128 : 32;
  static constexpr int channels = whole_group ? 32 : 8;
  static constexpr int most_pixels = whole_group ? shared::warpgroup_rows : shared::warpgroup_staged_columns;
  static constexpr int pixels = whole_group || share > most_pixels ? most_pixels : share;
  static constexpr int pitch = most_pixels + (whole_group ? 4 : 8);  // so that what lanes stage lies in different banks
  static_assert(channels * pitch * 4 * (whole_group ? 2 : 8) <= layout.staging_bytes);
  static constexpr int pieces = shared::ceil_divide(share, whole_group ? channels : pixels);
  static constexpr int units = tile.channel_blocks * pieces * (whole_group ? 1 : 2);  // of a segment
  static constexpr int pixels_of_share = whole_group ? pixels : share;

  // Of the stored elements, which are runs of pixels, of channels, or neither. A run may have the pixels of several
  // channels in turn, the classes of a transposed convolution's one.
  static constexpr int interleaved = shared::interleaved_classes(Base::real);
  static constexpr bool channels_last = shape.output.inner == 1;
  static constexpr bool is_run =
      !channels_last && !tile.along_rows && shape.output.axis[2] == 1 && Geometry::template step<2> == interleaved;
  static constexpr bool scattered = shared::is_scattered(Base::real);

  // The outputs of one position, and of those further along W. Channels count in the group.
  struct Target {
    const Geometry& geometry;
    const shared::Tensors& tensors;
    Place place;
    long long group;
    long long output, residual;  // of its first channel

    Target(const Geometry& geometry, const shared::Tensors& tensors, long long group, const Place& place)
        : geometry(geometry),
          tensors(tensors),
          place(place),
          group(group),
          output(offset(geometry.output_strides())),
          residual(offset(geometry.residual_strides())) {}

    long long offset(const shared::Strides& strides) const {
      return place.image * strides.outer + group * Base::real.out_channels * strides.inner +
             place.at[0] * (strides.axis[0] * Geometry::template step<0>)+place.at[1] *
                 (strides.axis[1] * Geometry::template step<1>)+place.at[2] *
                 (strides.axis[2] * Geometry::template step<2>);
    }

    // From the first channel's to another one's.
    static long long distance(const shared::Strides& strides, const Channel& of) {
      const long long channel = of.channel * strides.inner;
      if constexpr (!scattered) return channel;
      return channel + origin<0>(of) * strides.axis[0] + origin<1>(of) * strides.axis[1] +
             origin<2>(of) * strides.axis[2];
    }
    template <int i>
    static long long origin(const Channel& of) {
      return shared::forward_origin(Base::real.axis[i], of.number[i]);
    }

    // Not all classes have as many outputs. `axes` are those that count.
    template <int axes = 3>
    bool has(const Channel& of) const {
      if constexpr (!scattered) return true;
      return has_along<0>(of) && has_along<1>(of) && (axes < 3 || has_along<2>(of));
    }
    template <int i>
    bool has_along(const Channel& of) const {
      return place.at[i] * Geometry::template step<i> + origin<i>(of) < geometry.template whole_output<i>();
    }

    Output* at(const Channel& of) const {
      return static_cast<Output*>(tensors.output) + output + distance(geometry.output_strides(), of);
    }

    // What is stored of the staged sum `sums[pixel]` of a channel, `further` along W.
    Output value(const float* sums, int pixel, const Channel& of, int further = 0) const {
      const shared::Strides strides = geometry.residual_strides();
      return Epilogue::finish(sums[pixel], sums[most_pixels],
                              residual + distance(strides, of) + further * strides.axis[2], tensors);
    }
  };

  // Stores a warpgroup's sums. `staging` is memory of `threads` threads.
  static void store(const Sums& sums, const shared::Arguments& arguments, const Geometry& geometry, const Tile& at,
                    int warpgroup, float* staging) {
#pragma unroll 1
    for (int segment = 0; segment < tile.segments; ++segment) {
      Unit unit(arguments, geometry, at, warpgroup, segment);
      unit.ask_bias(warpgroup, 0);
#pragma unroll 1
      for (int number = 0; number < units; ++number) {
        unit.enter(warpgroup, number);
        meet(warpgroup);
        if constexpr (shape.bias) {
          if (thread() < channels) staging[thread() * pitch + most_pixels] = unit.bias;
          if (number + 1 < units) unit.ask_bias(warpgroup, number + 1);
        }
        unit.stage(sums, segment * units + number, staging);
        meet(warpgroup);
        if constexpr (is_run)
          unit.store_run(staging);
        else if constexpr (channels_last)
          unit.store_channels(staging);
        else
          unit.store_groups(staging);
      }
    }
  }

  static void meet(int warpgroup) {
    if constexpr (whole_group)
      ptx::barrier_sync(1 + warpgroup, threads);
    else
      __syncwarp();
  }

  // Of the threads that store a unit.
  static int thread() { return threadIdx.x % threads; }

  struct Unit {
    const shared::Arguments& arguments;
    const Geometry& geometry;
    const Tile& at;
    int segment;
    int channel = 0, pixel = 0;   // the first ones, the latter in the share
    int held = 0;                 // pixels, whether they exist or not
    int count = 0;                // of a run: outputs that exist
    int lead = 0, lead_step = 0;  // of a run: outputs before the first sector, and by how many a channel has more
    Target run;                   // where the share's first pixel is
    int left;                     // outputs of the share that exist from there on, of a run
    float bias = 0;               // of the thread's channel, of the unit that is staged next

    Unit(const shared::Arguments& arguments, const Geometry& geometry, const Tile& at, int warpgroup, int number)
        : arguments(arguments),
          geometry(geometry),
          at(at),
          segment(number + (tile.split_channels ? 0 : warpgroup * tile.segments)),
          run(target(place(0))) {
      const Place start = place(0);
      const auto more = geometry.template whole_output<2>() - start.at[2] * Geometry::template step<2>;
      constexpr int most = pixels_of_share * interleaved;
      left = !start.exists ? 0 : more < most ? int(more) : most;
    }

    // The first channel of one of the segment's units.
    int channel_of_unit(int warpgroup, int number) const {
      const int half = whole_group ? 0 : number % 2, block = number / (whole_group ? 1 : 2) / pieces;
      constexpr int block_channels = whole_group ? tile.columns : shared::warpgroup_rows;
      return int(at.channel) + (block + (tile.split_channels ? warpgroup * tile.channel_blocks : 0)) * block_channels +
             (whole_group ? first_column() + number % pieces * channels : threadIdx.x / 32 % 4 * 16 + 8 * half);
    }

    // Loads the thread's bias, so that it is there when the unit is staged.
    void ask_bias(int warpgroup, int number) {
      const int c = channel_of_unit(warpgroup, number) + thread();
      if (thread() < channels && c < shape.out_channels)
        bias = Epilogue::bias(at.group * Base::real.out_channels + channel_of_index(c).channel, arguments.tensors);
    }

    void enter(int warpgroup, int number) {
      channel = channel_of_unit(warpgroup, number);
      if constexpr (whole_group) {
        held = pixels;
      } else {
        pixel = number / 2 % pieces * pixels;
        held = share - pixel < pixels ? share - pixel : pixels;
      }
      if constexpr (is_run) {
        const int rest = left - pixel * interleaved;
        count = rest < held * interleaved ? rest : held * interleaved;
        if constexpr (!scattered) {
          lead = outputs_before_sector(run.at(channel_at(0)) + pixel);
          lead_step = -int(geometry.output_strides().inner % 8);
        }
      }
    }

    Place place(int p) const {
      return Base::place(geometry, at, segment, (whole_group ? 0 : first_column()) + pixel + p);
    }

    // A sector of 32 bytes that is written in parts costs much more than a whole one. Of any type eight outputs count:
    // of 16 bits half a sector.
    static int outputs_before_sector(const Output* output) {
      return -int(reinterpret_cast<unsigned long long>(output) / sizeof(Output) % 8) & 7;
    }
    // Of a channel of the unit, whose run begins at `to`.
    int lead_of(int c, const Output* to) const {
      if constexpr (scattered) return outputs_before_sector(to);
      return lead + c * lead_step & 7;
    }

    bool has(int c) const {
      constexpr bool all = !whole_group || share % channels == 0;
      return is_channel(channel + c) && (all || channel + c < end_of_share());
    }
    int end_of_share() const {
      return int(at.channel) + ((channel - int(at.channel)) / tile.columns) * tile.columns + first_column() + share;
    }

    static Channel channel_of_index(int index) { return shared::forward_channel(Base::real, index); }
    Channel channel_at(int c) const { return channel_of_index(channel + c); }

    // Of a channel of the unit, at a place that exists: what is staged as `pixel`.
    void store_output(const Target& to, int c, const float* staging, int pixel) const {
      const Channel of = channel_at(c);
      if (has(c) && to.has(of)) *to.at(of) = to.value(staging + c * pitch, pixel, of);
    }

    Target target(const Place& place) const { return {geometry, arguments.tensors, at.group, place}; }

    // The thread's sums of the unit.
    static constexpr int values = channels * pixels / threads;
    // Their places: channel and pixel of the unit.
    static int channel_of(int i) { return whole_group ? i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2 : thread() / 4; }
    static int pixel_of(int i) {
      return whole_group ? thread() / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8
                         : i / 2 * 8 + thread() % 4 * 2 + i % 2;
    }

    static int place_of(int i) { return channel_of(i) * pitch + pixel_of(i); }

    // Which registers they are is known at compile time only: every unit has its code.
    void stage(const Sums& sums, int number, float* staging) const {
      float magnitude = 0;
#pragma unroll
      for (int s = 0; s < tile.segments; ++s) {
#pragma unroll
        for (int b = 0; b < tile.channel_blocks; ++b) {
#pragma unroll
          for (int part = 0; part < units / tile.channel_blocks; ++part) {
            if (number == s * units + b * (units / tile.channel_blocks) + part)
              magnitude = stage_part(sums[s][b], part, staging);
          }
        }
      }
      if constexpr (Exact::needed) {
        if (!Exact::is_finite(magnitude)) repair(staging);
      }
    }

    float stage_part(const typename Base::BlockSums& sums, int part, float* staging) const {
      constexpr int parts_of_pixel = whole_group ? 1 : 2;
      const int first = part / parts_of_pixel * (whole_group ? channels : pixels) / 2;  // register
      float magnitude = 0;
#pragma unroll
      for (int i = 0; i < values; i += 2) {
        const int from = first + (whole_group ? i : 2 * i + 2 * (part % 2));
        if (from >= share / 2) continue;
        if constexpr (Exact::needed) magnitude += fabsf(sums[from]) + fabsf(sums[from + 1]);
        float* const to = staging + place_of(i);
        if constexpr (whole_group) {
          to[0] = sums[from];
          to[pitch] = sums[from + 1];
        } else {
          *reinterpret_cast<Vector<float, 2>*>(to) = {sums[from], sums[from + 1]};
        }
      }
      return magnitude;
    }

    // Computes the thread's sums that are not finite again.
    void repair(float* staging) const {
#pragma unroll 1
      for (int i = 0; i < values; ++i) {
        const int c = channel_of(i);
        float& sum = staging[place_of(i)];
        if (!has(c) || Exact::is_finite(sum)) continue;
        const Place place = this->place(pixel_of(i));
        if (place.exists) sum = Exact::sum(arguments, geometry, at.group, channel + c, place);
      }
    }

    // A warp stores a run: what lies before its first sector, then 32 outputs at a time, each from a sector's
    // beginning.
    void store_run(float* staging) const {
      const int lane = threadIdx.x % 32;
      constexpr int turns = channels / interleaved * 32 / threads, at_once = is_light ? turns : 1;
#pragma unroll 1
      for (int turn = 0; turn < turns; turn += at_once) {
#pragma unroll
        for (int i = 0; i < at_once; ++i) {
          const int c = (thread() / 32 + (turn + i) * (threads / 32)) * interleaved;
          if (has(c) && run.template has<2>(channel_at(c))) store_channel(c, lane, staging + c * pitch);
        }
      }
    }
    // From channel `c` on, the first one of the run.
    void store_channel(int c, int lane, const float* sums) const {
      const Channel of = channel_at(c);
      Output* const to = first_of_run(c, of);
      const int lead = lead_of(c, to);
      const auto store_one = [&](int o) {
        if (o < count) to[o] = run.value(sums + o % interleaved * pitch, o / interleaved, of, pixel * interleaved + o);
      };
      if (lane < lead) store_one(lane);
      int from = lead + lane;
      ptx::forget(from);  // so that there is one address, and distances from it
      if constexpr (is_light) {
#pragma unroll
        for (int o = 0; o < pixels * interleaved; o += 32) store_one(from + o);
      } else {
#pragma unroll 1
        for (int o = 0; o < pixels * interleaved; o += 32) store_one(from + o);
      }
    }
    Output* first_of_run(int c, const Channel& of) const {
      if constexpr (scattered) return run.at(of) + pixel * interleaved;
      return run.at(channel_at(0)) + pixel + c * geometry.output_strides().inner;
    }

    // Channels are neighbours.
    void store_channels(float* staging) const {
      const int c = thread() % channels;
      if (!has(c)) return;
#pragma unroll 1
      for (int p = thread() / channels; p < held; p += threads / channels) {
        const Place place = this->place(p);
        if (!place.exists) continue;
        store_output(target(place), c, staging, p);
      }
    }

    // Eight pixels are neighbours, or those of a channel's classes.
    void store_groups(float* staging) const {
      constexpr int outputs = pixels * interleaved;
      constexpr int lanes = outputs >= threads ? threads
                            : outputs >= 64    ? 64
                            : outputs >= 32    ? 32
                            : outputs >= 16    ? 16
                                               : 8;
      constexpr int apart = threads / lanes, turns = channels / interleaved / apart;
#pragma unroll 1
      for (int o = thread() % lanes; o < held * interleaved; o += lanes) {
        const int p = o / interleaved;
        const Place place = this->place(p);
        if (!place.exists) continue;
        const Target to = target(place);
        const auto store_turn = [&](int turn) {
          const int c = (thread() / lanes + turn * apart) * interleaved + o % interleaved;
          store_output(to, c, staging, p);
        };
        if constexpr (is_light) {
#pragma unroll
          for (int turn = 0; turn < turns; ++turn) store_turn(turn);
        } else {
#pragma unroll 1
          for (int turn = 0; turn < turns; ++turn) store_turn(turn);
        }
      }
    }
  };
  // Whether an output takes few instructions: code for many is worth its length.
  static constexpr bool is_light = Config::activation <= Activation::leaky_relu && !scattered;
};

}  // namespace tapconv
