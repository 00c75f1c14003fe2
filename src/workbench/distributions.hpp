#pragma once

#include <string_view>

#include "engine/host_tensors.hpp"

namespace tapconv {

/// What operands are drawn from. Weights and biases are divided by sqrt(fan-in), so that outputs are about as large as
/// inputs.
enum class Distribution {
  normal,
  uniform,    ///< in (-1, 1)
  positive,   ///< uniform in (0, 1), weights too: sums grow, nothing cancels
  relu,       ///< inputs: normal, the negative half replaced by 0
  lognormal,  ///< exp(1.5 x), x normal; inputs positive
  wide,       ///< magnitudes over 20 powers of two; 6 where numbers or outputs are float16
};

/// Every distribution, in declaration order.
inline constexpr Distribution all_distributions[] = {Distribution::normal,    Distribution::uniform,
                                                     Distribution::positive,  Distribution::relu,
                                                     Distribution::lognormal, Distribution::wide};

/// "normal", "uniform", "positive", "ReLU-sparse", "lognormal", "wide".
[[nodiscard]] std::string_view name(Distribution distribution) noexcept;

/// Whether the RMS error over outputs says something: not where few outputs are far larger than all others.
[[nodiscard]] bool has_even_magnitudes(Distribution distribution) noexcept;

/// Operands drawn so. An element is a function of the seed and its place in memory alone.
[[nodiscard]] HostTensors draw_operands(const Problem& problem, Distribution distribution, std::uint64_t seed);

/// Operands that are normal where they are not 0, so that an output has about `products` products that are not 0 (no
/// more than it has at all).
[[nodiscard]] HostTensors draw_sparse_operands(const Problem& problem, double products, std::uint64_t seed);

}  // namespace tapconv
