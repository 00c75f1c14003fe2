#include <algorithm>
#include <cstdint>

#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// What a reduced problem keeps.
struct Scale {
  std::int64_t channels;  ///< at most so many groups, and channels of a group
  int margin;             ///< input positions beyond those that one whole filter needs, in strides (transposed: in
                          ///< positions)
};

// From the largest; the last is taken whatever the work. One channel or group would be another kind of problem.
constexpr Scale scales[] = {{16, 3}, {8, 3}, {4, 3}, {2, 3}, {2, 1}, {2, 0}};
constexpr Work most{.flop = 2e6, .byte = 4e6};

/// `amount` less, but not below zero. `room` and `amount` are not negative.
std::int64_t take(std::int64_t room, std::int64_t amount) { return room - std::min(room, amount); }

/// Number of steps of `step` that cover `distance`.
std::int64_t steps(std::int64_t distance, std::int64_t step) { return distance / step + (distance % step != 0); }

/// Whole strides are removed, so that filter and border meet at the end of the input as before.
std::int64_t reduced_convolution_input(const Problem& p, int axis, int margin) {
  std::int64_t room = take(p.input[axis] - 1, p.dilation[axis] * (p.kernel[axis] - 1));
  for (const std::int64_t padding : {p.padding_lo[axis], p.padding_hi[axis]}) {
    room = take(room, std::max<std::int64_t>(-padding, 0));
  }
  for (int i = 0; i < margin; ++i) room = take(room, p.stride[axis]);
  if (p.padding_mode != PaddingMode::zeros) {
    // Reflected and wrapped positions need positions of the input that they stand for.
    const std::int64_t padding = std::max({p.padding_lo[axis], p.padding_hi[axis], std::int64_t{0}});
    room = std::min(room, take(p.input[axis] - 1, padding));
  }
  return p.input[axis] - room / p.stride[axis] * p.stride[axis];
}

/// Any input may go: each stands for a whole stride of the output. Enough stay for a filter, and for what is cropped.
std::int64_t reduced_transposed_input(const Problem& p, int axis, int margin) {
  std::int64_t room = take(p.input[axis] - 1, margin);
  for (const std::int64_t distance :
       {p.dilation[axis] * (p.kernel[axis] - 1), p.padding_lo[axis], p.padding_hi[axis]}) {
    room = take(room, steps(std::max<std::int64_t>(distance, 0), p.stride[axis]));
  }
  return p.input[axis] - room;
}

Problem scaled(const Problem& problem, const Scale& scale) {
  Problem small = problem;
  small.batch = std::min<std::int64_t>(problem.batch, 2);
  small.groups = std::min(problem.groups, scale.channels);
  small.in_channels = small.groups * std::min(problem.in_channels / problem.groups, scale.channels);
  small.out_channels = small.groups * std::min(problem.out_channels / problem.groups, scale.channels);
  small.depth_multiplier = std::min(problem.depth_multiplier, scale.channels);
  for (int axis = 0; axis < problem.rank; ++axis) {
    small.input[axis] = problem.kind == Kind::transposed ? reduced_transposed_input(problem, axis, scale.margin)
                                                         : reduced_convolution_input(problem, axis, scale.margin);
  }
  return small;
}

}  // namespace

Problem reduced(const Problem& problem) {
  Problem small;
  for (const Scale& scale : scales) {
    small = scaled(problem, scale);
    const Work work_of_small = work(small);
    if (work_of_small.flop <= most.flop && work_of_small.byte <= most.byte) break;
  }
  return small;
}

}  // namespace tapconv
