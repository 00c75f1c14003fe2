#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tapconv/problem.hpp"

namespace tapconv {
namespace {

/// Why MIOpenDriver has no words for the problem; empty if it has.
std::string refusal(const Problem& p) {
  const auto has = [](const auto& flags) { return std::ranges::find(flags, true) != flags.end(); };
  if (p.kind == Kind::depthwise_separable) return "MIOpenDriver has no problem of two convolutions.";
  if (p.rank == 1) return "MIOpenDriver has two or three spatial axes, not one.";
  if (p.dtype == DType::float64) return "MIOpenDriver has no float64.";
  if (p.dtype != p.out_dtype) return "MIOpenDriver has one type for input and output.";
  if (p.contract != default_contract(p.dtype))
    return fmt::format("MIOpenDriver cannot ask for math={} on {}.", name(p.contract), name(p.dtype));
  if (p.padding_mode != PaddingMode::zeros) return fmt::format("MIOpenDriver has no {} padding.", name(p.padding_mode));
  if (p.padding_lo != p.padding_hi) return "MIOpenDriver has the same padding on both sides.";
  if (std::ranges::any_of(p.padding_lo, [](std::int64_t value) { return value < 0; }))
    return "MIOpenDriver has no negative padding.";
  if (p.residual || p.activation != Activation::none) return "MIOpenDriver has no residual and no activation.";
  if (p.dynamic_batch || has(p.dynamic_input)) return "MIOpenDriver has no dynamic sizes.";
  std::int64_t largest = std::max({p.batch, p.in_channels, p.out_channels});
  for (const Extent* extent : {&p.input, &p.kernel, &p.stride, &p.padding_lo, &p.output_padding, &p.dilation})
    largest = std::max(largest, std::ranges::max(*extent));
  if (largest > std::numeric_limits<std::int32_t>::max()) return "MIOpenDriver has sizes of 32 bits.";
  return "";
}

}  // namespace

Translation miopen_command(const Problem& p) {
  if (const std::string why = refusal(p); !why.empty()) return {.text = std::nullopt, .reason = why};
  std::string text = p.dtype == DType::float16 ? "convfp16" : p.dtype == DType::bfloat16 ? "convbfp16" : "conv";
  text += fmt::format(" -n {} -c {}", p.batch, p.in_channels);
  // The flags of an extent along D, H and W.
  const auto append = [&](const Extent& extent, std::string_view depth, std::string_view height,
                          std::string_view width) {
    if (p.rank == 3) text += fmt::format(" --{} {}", depth, extent[0]);
    text += fmt::format(" -{} {} -{} {}", height, extent[p.rank - 2], width, extent[p.rank - 1]);
  };
  append(p.input, "in_d", "H", "W");
  text += fmt::format(" -k {}", p.out_channels);
  append(p.kernel, "fil_d", "y", "x");
  append(p.padding_lo, "pad_d", "p", "q");
  append(p.stride, "conv_stride_d", "u", "v");
  append(p.dilation, "dilation_d", "l", "j");
  text += fmt::format(" -g {} -m {}", p.groups, p.kind == Kind::transposed ? "trans" : "conv");
  if (p.output_padding != Extent{0, 0, 0}) append(p.output_padding, "trans_output_pad_d", "Y", "X");
  if (p.layout == Layout::channels_last) {
    const std::string_view layout = p.rank == 3 ? "NDHWC" : "NHWC";
    text += fmt::format(" -I {0} -O {0} -f {0}", layout);
  }
  if (p.rank == 3) text += " --spatial_dim 3";
  return {.text = text + fmt::format(" -b {} -F 1", p.bias ? 1 : 0), .reason = ""};
}

}  // namespace tapconv
