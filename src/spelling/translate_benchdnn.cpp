#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

std::string_view type_name(DType type) {
  switch (type) {
    case DType::float32:
      return "f32";
    case DType::float16:
      return "f16";
    case DType::bfloat16:
      return "bf16";
    case DType::float64:
      return "f64";
  }
  return "?";
}

/// Why benchdnn has no words for the problem; empty if it has.
std::string refusal(const Problem& p) {
  const auto has = [](const auto& flags) { return std::ranges::find(flags, true) != flags.end(); };
  if (p.kind == Kind::depthwise_separable) return "benchdnn has no problem of two convolutions.";
  if (p.padding_mode != PaddingMode::zeros) return fmt::format("benchdnn has no {} padding.", name(p.padding_mode));
  if (p.dynamic_batch || has(p.dynamic_input)) return "benchdnn has no dynamic sizes.";
  const bool tf32 = p.contract == Contract::tf32 && p.tie_rule == TieRule::away;
  if (p.contract != default_contract(p.dtype) && !tf32) {
    return fmt::format("benchdnn cannot ask for math={}{}.", name(p.contract),
                       p.contract == Contract::tf32 ? " with rounding=rn" : fmt::format(" on {}", name(p.dtype)));
  }
  if (p.activation == Activation::leaky_relu && p.negative_slope == 0)
    return "benchdnn takes a leaky ReLU of slope 0 for a ReLU.";
  return "";
}

std::string knobs(const Problem& p) {
  std::string text;
  if (p.kind == Kind::transposed) text += "--deconv ";
  const bool single = p.dtype == p.out_dtype;
  if (p.bias && p.dtype != DType::float32) {
    // With FWD_B the bias would be of f32.
    text += fmt::format("--dir=FWD_D --bia-dt={} ", type_name(p.dtype));
  } else if (!p.bias) {
    text += "--dir=FWD_D ";
  }
  if (!single) {
    text += fmt::format("--dt={0}:{0}:{1} ", type_name(p.dtype), type_name(p.out_dtype));
  } else if (p.dtype != DType::float32) {
    text += fmt::format("--dt={} ", type_name(p.dtype));
  }
  if (p.layout == Layout::channels_last) text += "--stag=axb --dtag=axb ";
  if (p.contract == Contract::tf32) text += "--attr-fpmath=tf32 ";
  std::string operations = p.residual ? "sum" : "";
  const auto append = [&](const std::string& operation) { operations += (operations.empty() ? "" : "+") + operation; };
  if (p.activation == Activation::relu) append("relu");
  if (p.activation == Activation::leaky_relu) append(fmt::format("relu:{}", p.negative_slope));
  if (p.activation == Activation::silu) append("swish:1");
  if (p.activation == Activation::gelu) append("gelu_erf");
  if (p.activation == Activation::gelu_tanh) append("gelu_tanh");
  if (!operations.empty()) text += fmt::format("--attr-post-ops={} ", operations);
  return text;
}

bool axes_are_alike(const Problem& p) {
  for (const Extent* extent :
       {&p.input, &p.kernel, &p.stride, &p.padding_lo, &p.padding_hi, &p.output_padding, &p.dilation}) {
    if (std::any_of(extent->begin(), extent->begin() + p.rank, [&](std::int64_t v) { return v != (*extent)[0]; }))
      return false;
  }
  return true;
}

/// Whether a descriptor needs the output's size: without it the padding is the same on both sides and not negative.
bool needs_output(const Problem& p, int axis) {
  return p.padding_lo[axis] != p.padding_hi[axis] || p.padding_lo[axis] < 0 || p.output_padding[axis] != 0;
}

/// Whether a negative padding is the one that a descriptor without padding implies.
bool is_implied(const Problem& p, int axis) {
  const std::int64_t output = output_extent(p)[axis], input = p.input[axis], stride = p.stride[axis];
  const std::int64_t reach = p.dilation[axis] * (p.kernel[axis] - 1) + 1;
  const std::int64_t total =
      p.kind == Kind::transposed ? (input - 1) * stride + reach - output : (output - 1) * stride - input + reach;
  return p.padding_lo[axis] == total / 2;
}

}  // namespace

Translation benchdnn_descriptor(const Problem& p) {
  if (const std::string why = refusal(p); !why.empty()) return {.text = std::nullopt, .reason = why};
  const Extent output = output_extent(p);
  std::string sizes, outputs, kernels, strides, paddings, dilations;
  // The first axis alone stands for all.
  const int written = axes_are_alike(p) ? 1 : p.rank;
  for (int axis = 0; axis < written; ++axis) {
    const char letter = "dhw"[max_rank - p.rank + axis];
    const bool with_output = needs_output(p, axis);
    if (p.padding_lo[axis] < 0 && !is_implied(p, axis)) {
      return {.text = std::nullopt,
              .reason = fmt::format("benchdnn has no padding of {} before an axis.", p.padding_lo[axis])};
    }
    const bool with_padding = p.padding_lo[axis] > 0 || (with_output && p.padding_lo[axis] == 0);
    const auto field = [&](char key, bool present, std::int64_t value) {
      return present ? fmt::format("{}{}{}", key, letter, value) : std::string();
    };
    sizes += field('i', true, p.input[axis]);
    outputs += field('o', with_output, output[axis]);
    kernels += field('k', true, p.kernel[axis]);
    strides += field('s', p.stride[axis] != 1, p.stride[axis]);
    paddings += field('p', with_padding, p.padding_lo[axis]);
    dilations += field('d', p.dilation[axis] != 1, p.dilation[axis] - 1);
  }
  const std::string groups = p.groups == 1 ? "" : fmt::format("g{}", p.groups);
  return {.text = fmt::format("{}{}mb{}ic{}{}oc{}{}{}{}{}{}", knobs(p), groups, p.batch, p.in_channels, sizes,
                              p.out_channels, outputs, kernels, strides, paddings, dilations),
          .reason = ""};
}

}  // namespace tapconv
