#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

constexpr Extent ones{1, 1, 1}, zeros{0, 0, 0};

/// "2" if all axes agree, else "(1, 2)".
std::string extent_text(const Extent& extent, int rank) {
  const auto end = extent.begin() + rank;
  if (std::all_of(extent.begin(), end, [&](std::int64_t value) { return value == extent[0]; }))
    return fmt::format("{}", extent[0]);
  return fmt::format("({})", fmt::join(extent.begin(), end, ", "));
}

std::string pad_call(const std::string& tensor, const Extent& lo, const Extent& hi, int rank, PaddingMode mode) {
  if (lo == zeros && hi == zeros) return tensor;
  std::vector<std::int64_t> sides;
  // F.pad begins with the last axis.
  for (int axis = rank - 1; axis >= 0; --axis) sides.insert(sides.end(), {lo[axis], hi[axis]});
  const std::string how = mode == PaddingMode::zeros ? "" : fmt::format(", mode='{}'", name(mode));
  return fmt::format("F.pad({}, ({}){})", tensor, fmt::join(sides, ", "), how);
}

/// `tensor` with positions added before and after each axis, negative ones removed. First added, then removed:
/// positions outside stand for ones of the whole tensor, and more may be removed at one end than there are without the
/// other.
std::string padded(const std::string& tensor, const Extent& lo, const Extent& hi, int rank, PaddingMode mode) {
  const auto each = [](Extent extent, auto function) {
    std::ranges::transform(extent, extent.begin(), function);
    return extent;
  };
  const auto added = [](std::int64_t value) { return std::max<std::int64_t>(value, 0); };
  const auto removed = [](std::int64_t value) { return std::min<std::int64_t>(value, 0); };
  const std::string longer = pad_call(tensor, each(lo, added), each(hi, added), rank, mode);
  return pad_call(longer, each(lo, removed), each(hi, removed), rank, PaddingMode::zeros);
}

/// The arguments that are not PyTorch's defaults.
std::string options(const Problem& p, const Extent& padding, const Extent& output_padding) {
  std::string text;
  if (p.stride != ones) text += fmt::format(", stride={}", extent_text(p.stride, p.rank));
  if (padding != zeros) text += fmt::format(", padding={}", extent_text(padding, p.rank));
  if (output_padding != zeros) text += fmt::format(", output_padding={}", extent_text(output_padding, p.rank));
  if (p.dilation != ones) text += fmt::format(", dilation={}", extent_text(p.dilation, p.rank));
  if (p.groups != 1) text += fmt::format(", groups={}", p.groups);
  return text;
}

bool has_negative(const Extent& extent) {
  return std::ranges::any_of(extent, [](std::int64_t value) { return value < 0; });
}

/// What F.conv takes as `padding`: the same number of zeros on both sides.
bool is_plain(const Problem& p) {
  return p.padding_mode == PaddingMode::zeros && p.padding_lo == p.padding_hi && !has_negative(p.padding_lo);
}

/// `bias` is empty or the name of a tensor.
std::string convolution(const Problem& p, const std::string& input, const std::string& weight,
                        const std::string& bias) {
  const std::string and_bias = bias.empty() ? "" : ", " + bias;
  if (is_plain(p)) {
    return fmt::format("F.conv{}d({}, {}{}{})", p.rank, input, weight, and_bias, options(p, p.padding_lo, zeros));
  }
  const std::string wider = padded(input, p.padding_lo, p.padding_hi, p.rank, p.padding_mode);
  return fmt::format("F.conv{}d({}, {}{}{})", p.rank, wider, weight, and_bias, options(p, zeros, zeros));
}

/// What is added to both ends of the whole output of a transposed convolution, without padding; negative: cropped.
struct Ends {
  Extent lo{}, hi{};
};

Ends output_ends(const Problem& p) {
  Ends ends;
  for (int axis = 0; axis < p.rank; ++axis) {
    ends.lo[axis] = -p.padding_lo[axis];
    ends.hi[axis] = p.output_padding[axis] - p.padding_hi[axis];
  }
  return ends;
}

/// Whether a transposed convolution has positions beyond its whole output. They hold the bias alone, which is therefore
/// added after them.
bool adds_bias_late(const Problem& p) {
  if (p.kind != Kind::transposed || !p.bias || is_plain(p)) return false;
  const auto [lo, hi] = output_ends(p);
  const auto extends = [](std::int64_t value) { return value > 0; };
  return std::ranges::any_of(lo, extends) || std::ranges::any_of(hi, extends);
}

std::string transposed(const Problem& p, const std::string& input, const std::string& weight, const std::string& bias) {
  const bool late = adds_bias_late(p);
  const bool plain = is_plain(p);
  const std::string call =
      fmt::format("F.conv_transpose{}d({}, {}{}{})", p.rank, input, weight, bias.empty() || late ? "" : ", " + bias,
                  plain ? options(p, p.padding_lo, p.output_padding) : options(p, zeros, zeros));
  if (plain) return call;
  const auto [lo, hi] = output_ends(p);
  const std::string output = padded(call, lo, hi, p.rank, PaddingMode::zeros);
  if (!late) return output;
  std::string shape = "-1";
  for (int axis = 0; axis < p.rank; ++axis) shape += ", 1";
  return fmt::format("{} + {}.view({})", output, bias, shape);
}

std::string activated(const Problem& p, const std::string& sum) {
  switch (p.activation) {
    case Activation::none:
      return sum;
    case Activation::relu:
      return fmt::format("F.relu({})", sum);
    case Activation::leaky_relu:
      return fmt::format("F.leaky_relu({}, {})", sum, p.negative_slope);
    case Activation::silu:
      return fmt::format("F.silu({})", sum);
    case Activation::gelu:
      return fmt::format("F.gelu({})", sum);
    case Activation::gelu_tanh:
      return fmt::format("F.gelu({}, approximate='tanh')", sum);
  }
  return sum;
}

}  // namespace

Translation pytorch_call(const Problem& problem) {
  const std::vector<Problem> parts = stages(problem);
  const bool narrow = problem.dtype == DType::float16 || problem.dtype == DType::bfloat16;
  // One call rounds to the inputs' type at its end; if that is not the end of the problem, the inputs are widened. ReLU
  // of a rounded number is the rounded ReLU.
  const bool one_rounding = problem.out_dtype == problem.dtype && parts.size() == 1 && !adds_bias_late(problem) &&
                            !problem.residual &&
                            (problem.activation == Activation::none || problem.activation == Activation::relu);
  const bool widen = narrow && !one_rounding;
  const auto tensor = [&](std::string_view name) { return fmt::format("{}{}", name, widen ? ".float()" : ""); };
  const auto bias = [&](std::string_view name) { return problem.bias ? tensor(name) : std::string(); };

  std::string text = problem.kind == Kind::transposed ? transposed(problem, tensor("x"), tensor("w"), bias("b"))
                                                      : convolution(parts[0], tensor("x"), tensor("w"), bias("b"));
  if (parts.size() > 1) text = convolution(parts[1], text, tensor("w2"), bias("b2"));
  if (problem.residual) text += " + residual";
  text = activated(problem, text);
  const DType computed = widen ? DType::float32 : problem.dtype;
  if (problem.out_dtype != computed) {
    const bool is_sum = problem.activation == Activation::none && (problem.residual || adds_bias_late(problem));
    if (is_sum) text = fmt::format("({})", text);
    text += fmt::format(".to(torch.{})", name(problem.out_dtype));
  }
  return {.text = text, .reason = ""};
}

}  // namespace tapconv
