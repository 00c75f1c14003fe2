#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "engine/host_tensors.hpp"

namespace tapconv {

/// Operands of which an output has one product that is not zero, of an impulse (1) and a code: the output tells what
/// was read. No bias, no residual.
struct Impulses {
  HostTensors tensors;
  std::string what;
};

/// One weight of each filter is 1, number (first + filter) of its channels and taps, in turn; every input is a code. In
/// a depthwise separable problem the filters are those of the depthwise half; each output channel takes one's result.
[[nodiscard]] Impulses weight_impulses(const Problem& problem, std::int64_t first);

/// One input of each image and group is 1, drawn from the seed, and every weight a code. In a depthwise separable
/// problem each output channel takes one result of the depthwise half.
[[nodiscard]] Impulses input_impulses(const Problem& problem, std::uint64_t seed);

/// Values of `first` for which weight impulses meet each tap of each channel of a group's input, in some filter; at
/// most `most` (2 or more) of them, the first and the last taps included in any case.
[[nodiscard]] std::set<std::int64_t> impulse_passes(const Problem& problem, std::int64_t most);

/// Why an output of weight_impulses() is wrong, as far as it tells: which other tap or channel of the input it holds.
/// `place` is (n, k, spatial...).
[[nodiscard]] std::string name_wrong_impulse(const Problem& problem, std::int64_t first,
                                             const std::vector<std::int64_t>& place, double actual, double expected);

}  // namespace tapconv
