#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/numerics.hpp"

namespace tapconv {

/// The largest number of spatial axes.
inline constexpr int max_rank = 3;

/// One number per spatial axis, in PyTorch's order: (W), (H, W) or (D, H, W). Entries from `rank` on
/// are neutral: 1 for sizes and steps, 0 for padding.
using Extent = std::array<std::int64_t, max_rank>;

/// A convolution with PyTorch's semantics on contiguous float32 tensors (N, C, [D,] [H,] W).
struct Problem {
  int rank = 2;                   ///< number of spatial axes, 1 to 3
  std::int64_t batch = 1;         ///< N
  std::int64_t in_channels = 1;   ///< over all groups
  std::int64_t out_channels = 1;  ///< over all groups
  Extent input{1, 1, 1};          ///< spatial size of the input
  Extent kernel{1, 1, 1};         ///< spatial size of the filter
  Extent stride{1, 1, 1};         ///< distance of neighbouring outputs, in input positions
  Extent padding_lo{0, 0, 0};     ///< zeros before the first input position
  Extent padding_hi{0, 0, 0};     ///< zeros after the last input position
  Extent dilation{1, 1, 1};       ///< distance of neighbouring taps, in input positions
  std::int64_t groups = 1;        ///< divides in_channels and out_channels
  bool bias = true;               ///< one value per output channel is added
  Contract contract = Contract::fp32;
  TieRule tie_rule = TieRule::away;  ///< of the operands' rounding under Contract::tf32

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Throws Error{usage} naming the field, its value and what would be valid. Every other function that
/// takes a Problem expects a valid one.
void validate(const Problem& problem);

/// Spatial size of the output: floor((input + padding_lo + padding_hi - dilation*(kernel-1) - 1) / stride) + 1.
[[nodiscard]] Extent output_extent(const Problem& problem);

/// Shapes as PyTorch lays them out: (N, C, spatial...), (K, C/groups, spatial...), (N, K, spatial...).
[[nodiscard]] std::vector<std::int64_t> input_shape(const Problem& problem);
[[nodiscard]] std::vector<std::int64_t> weight_shape(const Problem& problem);
[[nodiscard]] std::vector<std::int64_t> output_shape(const Problem& problem);

/// Product of a shape. Exact for every valid problem (validate() refuses larger ones).
[[nodiscard]] std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// Arithmetic and traffic of a problem.
struct Work {
  double flop = 0;  ///< 2 x outputs x (in_channels/groups) x taps, padding counted; bias not counted
  double byte = 0;  ///< input, weight, bias read once and output written once, float32
};
[[nodiscard]] Work work(const Problem& problem);

/// Reads one of
///
///     Conv2d(64, 128, (5, 7), stride=1, padding=0, dilation=1, groups=1, bias=True, math=fp32) @ 8x64x512x256
///     kb56                       (a published problem, see published_problems())
///     kb56 @ 1x64x512x256       (the same layer on another input)
///
/// Arguments follow PyTorch: positional or by keyword, a number or a tuple per spatial argument. `math`
/// is ieee, fp32 or tf32; `rounding` is rna or rn. Both may follow a published name in parentheses:
/// `kb56(math=tf32)`. The result is valid. Throws SpellingError.
[[nodiscard]] Problem parse_problem(std::string_view text);

/// The canonical spelling: parse_problem(spell(p)) == p for every valid p with equal padding on both
/// sides of each axis; others throw Error{usage}.
[[nodiscard]] std::string spell(const Problem& problem);

/// One published problem: its name and the facts that were published of it.
struct PublishedProblem {
  std::string name;
  Problem problem;                   ///< contract as published (own_contract)
  std::string reference_arithmetic;  ///< what PyTorch's default computed: "tf32-rna", "tf32-rn", "fp32", ...
};

/// The published problems that this version computes, in order of name.
[[nodiscard]] const std::vector<PublishedProblem>& published_problems();

}  // namespace tapconv
