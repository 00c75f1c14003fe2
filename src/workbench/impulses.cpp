#include "workbench/impulses.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "problem/element_places.hpp"
#include "problem/text.hpp"
#include "workbench/exact_operands.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

/// Codes run from 1 to a prime, so that neighbours in any direction have different ones. Every number up to it is
/// exact as an operand and as an output.
std::int64_t most_code(const Problem& problem) {
  const auto is = [&](DType dtype) { return problem.dtype == dtype || problem.out_dtype == dtype; };
  if (is(DType::bfloat16)) return 251;
  if (is(DType::float16) || problem.contract == Contract::tf32) return 2039;
  return 1048573;
}

void fill_codes(std::vector<std::byte>& tensor, const std::vector<std::int64_t>& shape, const Problem& problem) {
  const ElementPlaces place(shape, problem.layout);
  const std::int64_t most = most_code(problem), step = most * 5 / 13;  // an output that is off by one is no neighbour's
  for (std::int64_t i = 0; i < element_count(shape); ++i)
    store_element(tensor.data(), problem.dtype, place(i), static_cast<double>(1 + i % most * step % most));
}

/// Channels of a group's input, and outputs of a group, of the half that has the taps.
struct Channels {
  std::int64_t groups, in, out, taps;

  explicit Channels(const Problem& problem) {
    const Problem part = stages(problem).front();
    groups = part.groups;
    in = part.in_channels / part.groups;
    out = part.out_channels / part.groups;
    taps = part.kernel[0] * part.kernel[1] * part.kernel[2];
  }
};

/// The logical index of a weight: output channel over all groups, input channel within the group, tap.
std::int64_t weight_index(const Problem& problem, const Channels& c, std::int64_t k, std::int64_t channel,
                          std::int64_t tap) {
  if (problem.kind == Kind::transposed) return ((k / c.out * c.in + channel) * c.out + k % c.out) * c.taps + tap;
  return (k * c.in + channel) * c.taps + tap;
}

/// Output channel k of the pointwise half takes channel k modulo their number.
void fill_pointwise(HostTensors& tensors, const Problem& problem) {
  if (problem.kind != Kind::depthwise_separable) return;
  const std::vector<std::int64_t> shape = pointwise_weight_shape(problem);
  const ElementPlaces place(shape, problem.layout);
  for (std::int64_t k = 0; k < problem.out_channels; ++k)
    store_element(tensors.pointwise_weight.data(), problem.dtype, place(k * shape[1] + k % shape[1]), 1);
}

/// `which` counts channels and taps, taps fastest.
void set_weight(HostTensors& tensors, const Problem& problem, std::int64_t k, std::int64_t which) {
  const Channels c(problem);
  const ElementPlaces place(weight_shape(problem), problem.layout);
  store_element(tensors.weight.data(), problem.dtype,
                place(weight_index(problem, c, k, which / c.taps, which % c.taps)), 1);
}

std::string tap_text(const Problem& problem, std::int64_t tap) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(problem.rank));
  for (std::size_t axis = at.size(); axis-- > 0;) {
    at[axis] = tap % problem.kernel[axis];
    tap /= problem.kernel[axis];
  }
  return fmt::format("({})", fmt::join(at, ", "));
}

/// The weight that alone is set for outputs of channel k: of the depthwise half, if the problem has one.
struct Chosen {
  std::int64_t filter, which;

  Chosen(const Problem& problem, std::int64_t first, std::int64_t k) {
    const Channels c(problem);
    filter = problem.kind == Kind::depthwise_separable ? k % (c.groups * c.out) : k;
    which = (first + filter) % (c.in * c.taps);
  }
};

}  // namespace

std::set<std::int64_t> impulse_passes(const Problem& problem, std::int64_t most) {
  const Channels c(problem);
  const std::int64_t weights = c.in * c.taps, filters = c.groups * c.out;
  const std::int64_t passes = std::min((weights - 1) / filters + 1, most);
  std::set<std::int64_t> firsts{0};
  for (std::int64_t i = 1; i < passes; ++i) firsts.insert((weights - filters) * i / (passes - 1));
  return firsts;
}

Impulses weight_impulses(const Problem& problem, std::int64_t first) {
  Impulses impulses{.tensors = HostTensors(problem), .what = "weight impulses"};
  fill_codes(impulses.tensors.input, input_shape(problem), problem);
  const Channels c(problem);
  for (std::int64_t filter = 0; filter < c.groups * c.out; ++filter)
    set_weight(impulses.tensors, problem, filter, Chosen(problem, first, filter).which);
  fill_pointwise(impulses.tensors, problem);
  return impulses;
}

Impulses input_impulses(const Problem& problem, std::uint64_t seed) {
  Impulses impulses{.tensors = HostTensors(problem), .what = "input impulses"};
  fill_codes(impulses.tensors.weight, weight_shape(problem), problem);
  fill_pointwise(impulses.tensors, problem);
  std::mt19937_64 generator(seed);
  const std::vector<std::int64_t> shape = input_shape(problem);
  const ElementPlaces place(shape, problem.layout);
  const std::int64_t group = element_count(shape) / problem.batch / problem.groups;
  for (std::int64_t i = 0; i < problem.batch * problem.groups; ++i) {
    const auto chosen = static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(group));
    store_element(impulses.tensors.input.data(), problem.dtype, place(i * group + chosen), 1);
  }
  return impulses;
}

std::string name_wrong_impulse(const Problem& problem, std::int64_t first, const std::vector<std::int64_t>& place,
                               double actual, double expected) {
  // A search over channels and taps, each by the oracle.
  constexpr double most_products = 2e8;
  const Channels c(problem);
  const Chosen chosen(problem, first, place[1]);
  const std::int64_t channel = chosen.which / c.taps, tap = chosen.which % c.taps;
  const std::string set = fmt::format(
      "channel {}, tap {} of the weights of output channel {} alone is set, and output "
      "({}) is {:.9g}",
      channel, tap_text(problem, tap), place[1], fmt::join(place, ", "), actual);
  if (actual == 0) return fmt::format("{} where {:.9g} is read: the tap or the channel is skipped", set, expected);
  const double products = static_cast<double>(c.in + c.taps) * products_of_output(stages(problem).front()) *
                          products_of_output(stages(problem).back());
  std::vector<std::int64_t> others;
  if (products <= most_products) {
    for (std::int64_t t = 0; t < c.taps; ++t) others.push_back(channel * c.taps + t);
    for (std::int64_t i = 0; i < c.in; ++i) others.push_back(i * c.taps + tap);
  }
  Impulses impulses = weight_impulses(problem, first);
  const ElementPlaces places(weight_shape(problem), problem.layout);
  const auto put = [&](std::int64_t which, double value) {
    const std::int64_t index = weight_index(problem, c, chosen.filter, which / c.taps, which % c.taps);
    store_element(impulses.tensors.weight.data(), problem.dtype, places(index), value);
  };
  put(chosen.which, 0);
  const std::vector<std::int64_t> output{output_index(problem, place)};
  for (const std::int64_t other : others) {
    if (other == chosen.which) continue;
    put(other, 1);
    const OracleOutput read = oracle(problem, impulses.tensors.operands(), output, OperandRounding::exact).front();
    put(other, 0);
    if (read.products > 0 && std::abs(actual - read.value) <= exact_tolerance(problem, read))
      return fmt::format("{}, which channel {}, tap {} reads", set, other / c.taps, tap_text(problem, other % c.taps));
  }
  if (expected == 0) return fmt::format("{} where padding is read", set);
  return fmt::format("{} where {:.9g} is read", set, expected);
}

}  // namespace tapconv
