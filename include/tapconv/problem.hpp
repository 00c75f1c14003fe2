#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/numerics.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {

/// The largest number of spatial axes.
inline constexpr int max_rank = 3;

/// One number per spatial axis, in PyTorch's order: (W), (H, W) or (D, H, W). Entries from `rank` on
/// are neutral: 1 for sizes and steps, 0 for padding.
using Extent = std::array<std::int64_t, max_rank>;

/// What is computed.
enum class Kind {
  convolution,          ///< PyTorch's Conv1d, Conv2d, Conv3d
  transposed,           ///< PyTorch's ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
  depthwise_separable,  ///< a depthwise convolution, then a pointwise one of its result, without rounding in between
};

/// What positions outside the input hold.
enum class PaddingMode {
  zeros,
  reflect,    ///< the input mirrored at its first and last position, which are not repeated
  replicate,  ///< the nearest position of the input
  circular,   ///< the input repeated
};

/// "zeros", "reflect", "replicate", "circular".
[[nodiscard]] std::string_view name(PaddingMode mode) noexcept;

/// A convolution with PyTorch's semantics:
///
///     output = activation(sum over channels and taps of weight * input + bias + residual)
///
/// on tensors (N, C, [D,] [H,] W).
struct Problem {
  Kind kind = Kind::convolution;
  int rank = 2;                    ///< number of spatial axes, 1 to 3
  std::int64_t batch = 1;          ///< N
  std::int64_t in_channels = 1;    ///< over all groups
  std::int64_t out_channels = 1;   ///< over all groups
  Extent input{1, 1, 1};           ///< spatial size of the input
  Extent kernel{1, 1, 1};          ///< spatial size of the filter
  Extent stride{1, 1, 1};          ///< distance of neighbouring outputs, in input positions (transposed: the reverse)
  Extent padding_lo{0, 0, 0};      ///< positions before the first of the input; negative: crops
  Extent padding_hi{0, 0, 0};      ///< positions after the last of the input; negative: crops
                                   ///< (transposed: both crop the output, negative ones extend it)
  Extent output_padding{0, 0, 0};  ///< transposed alone: added to the end of the output; below stride or dilation
  Extent dilation{1, 1, 1};        ///< distance of neighbouring taps, in input positions (transposed: of the output)
  std::int64_t groups = 1;         ///< divides in_channels and out_channels; depthwise_separable: 1
  std::int64_t depth_multiplier = 1;  ///< depthwise_separable alone: depthwise outputs of each input channel
  bool bias = true;                   ///< one value per output channel is added (depthwise_separable: in both halves)
  PaddingMode padding_mode = PaddingMode::zeros;  ///< of a convolution; others have zeros
  DType dtype = DType::float32;                   ///< of input, weight and bias
  DType out_dtype = DType::float32;               ///< of output and residual
  Layout layout = Layout::contiguous;             ///< of input, weight, output and residual
  Contract contract = Contract::fp32;
  TieRule tie_rule = TieRule::away;  ///< of the operands' rounding under Contract::tf32
  bool residual = false;             ///< a tensor of the output's shape is added before the activation
  Activation activation = Activation::none;
  double negative_slope = 0.01;  ///< of leaky_relu
  bool dynamic_batch = false;    ///< one plan serves every batch; `batch` is then an example
  std::array<bool, max_rank> dynamic_input{false, false, false};  ///< the same for each spatial size of the input

  friend bool operator==(const Problem&, const Problem&) = default;
};

/// Throws Error{usage} naming the field, its value and what would be valid. Every other function that
/// takes a Problem expects a valid one.
void validate(const Problem& problem);

/// Spatial size of the output. Convolution: floor((input + padding_lo + padding_hi - dilation*(kernel-1) - 1) / stride)
/// + 1. Transposed: (input-1)*stride - padding_lo - padding_hi + dilation*(kernel-1) + output_padding + 1.
[[nodiscard]] Extent output_extent(const Problem& problem);

/// Shapes as PyTorch has them: input (N, C, spatial...), output and residual (N, K, spatial...); weight
/// (K, C/groups, spatial...), transposed (C, K/groups, spatial...); of the depthwise half of a depthwise_separable one
/// (C*depth_multiplier, 1, spatial...), of its pointwise half (K, C*depth_multiplier, 1...).
[[nodiscard]] std::vector<std::int64_t> input_shape(const Problem& problem);
[[nodiscard]] std::vector<std::int64_t> weight_shape(const Problem& problem);
[[nodiscard]] std::vector<std::int64_t> output_shape(const Problem& problem);
[[nodiscard]] std::vector<std::int64_t> pointwise_weight_shape(const Problem& problem);

/// Number of values of the bias beside `weight`, and of that of the pointwise half: 0 where there is none.
[[nodiscard]] std::int64_t bias_count(const Problem& problem);
[[nodiscard]] std::int64_t pointwise_bias_count(const Problem& problem);

/// Product of a shape. Exact for every valid problem (validate() refuses larger ones).
[[nodiscard]] std::int64_t element_count(const std::vector<std::int64_t>& shape);

/// The problem as plain convolutions, each on the result of the one before: one, or for depthwise_separable two.
/// Residual and activation belong to the last.
[[nodiscard]] std::vector<Problem> stages(const Problem& problem);

/// Arithmetic and traffic of a problem.
struct Work {
  /// 2 x outputs x (in_channels/groups) x taps, padding counted; transposed: 2 x inputs x (out_channels/groups) x taps.
  /// Bias, residual and activation are not counted.
  double flop = 0;
  /// Input, weights, biases and residual read once and output written once, each in its own type.
  double byte = 0;
};
[[nodiscard]] Work work(const Problem& problem);

/// The same problem at a size that a slow computer finishes at once: at most two images, few channels a group and
/// groups, inputs just long enough to keep every tap, border, stride and residue class. The result is valid and has
/// the same kind, kernel, stride, padding, dilation and types.
[[nodiscard]] Problem reduced(const Problem& problem);

/// Reads one problem; docs/command-line.md and docs/problem-spellings.md have the grammar:
///
///     Conv2d(64, 128, (5, 7), stride=1, padding=0, bias=True, math=fp32) @ 8x64x512x256    PyTorch's arguments
///     ConvTranspose2d(...) @ ..., DepthwiseSeparable2d(...) @ ...
///     kb56, resnet50/conv1                    a named problem, see problem_lists()
///     kb56(math=fp32) @ 1x64x512x256          the same layer, varied or on another input
///     mb8ic64ih512iw256oc128kh5kw7            a benchdnn descriptor, after its knobs (--deconv --dt=bf16 ...)
///     conv -n 8 -c 64 -H 512 -W 256 -k 128 -y 5 -x 7    MIOpenDriver's short flags
///
/// The result is valid. Throws SpellingError.
[[nodiscard]] Problem parse_problem(std::string_view text);

/// The canonical spelling: parse_problem(spell(p)) == p for every valid p.
[[nodiscard]] std::string spell(const Problem& problem);

/// A problem in another language, or why it has none there.
struct Translation {
  std::optional<std::string> text;
  std::string reason;  ///< a sentence; empty if there is a text
};

/// Python that computes the problem with PyTorch from tensors `x`, `w`, and as far as the problem has them `b`, `w2`,
/// `b2`, `residual`: an expression.
[[nodiscard]] Translation pytorch_call(const Problem& problem);

/// A benchdnn command's arguments: driver, knobs, descriptor.
[[nodiscard]] Translation benchdnn_descriptor(const Problem& problem);

/// MIOpenDriver's arguments.
[[nodiscard]] Translation miopen_command(const Problem& problem);

/// A problem with a name.
struct NamedProblem {
  std::string name;
  Problem problem;
  std::int64_t count = 1;  ///< how many layers of the network are this one
};

/// Problems that belong together.
struct ProblemList {
  std::string name;   ///< "kernelbench", "resnet50", ...
  std::string about;  ///< what it is and where the sizes come from
  std::vector<NamedProblem> problems;
};

/// The lists that are shipped. Their problems have the names that
/// parse_problem() takes: "resnet50/conv1"; those of "kernelbench" "kb56".
[[nodiscard]] const std::vector<ProblemList>& problem_lists();

/// Reads many problems: "@file" holds benchdnn's input format (descriptors and knob lines, `#` comments,
/// `--batch=file`), or problems line by line in any spelling, or JSON (docs/command-line.md); a list's name stands for
/// its problems; anything else is one problem. Throws SpellingError, for files with the file's name and line,
/// Error{environment} for a file that cannot be read.
[[nodiscard]] std::vector<NamedProblem> parse_problems(std::string_view text);

/// One published problem: its name and the facts that were published of it.
struct PublishedProblem {
  std::string name;
  Problem problem;                   ///< contract as published (own_contract)
  std::string reference_arithmetic;  ///< what PyTorch's default computed: "tf32-rna", "tf32-rn", "fp32", ...
};

/// The published problems, in order of name.
[[nodiscard]] const std::vector<PublishedProblem>& published_problems();

}  // namespace tapconv
