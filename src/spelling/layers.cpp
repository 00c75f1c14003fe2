#include "spelling/layers.hpp"

#include <algorithm>

namespace tapconv {
namespace {

constexpr Layer layers[] = {
    {"Conv1d", Kind::convolution, 1},
    {"Conv2d", Kind::convolution, 2},
    {"Conv3d", Kind::convolution, 3},
    {"ConvTranspose1d", Kind::transposed, 1},
    {"ConvTranspose2d", Kind::transposed, 2},
    {"ConvTranspose3d", Kind::transposed, 3},
    {"DepthwiseSeparable1d", Kind::depthwise_separable, 1},
    {"DepthwiseSeparable2d", Kind::depthwise_separable, 2},
    {"DepthwiseSeparable3d", Kind::depthwise_separable, 3},
};

constexpr std::size_t required_count = 3;

constexpr Field convolution_fields[] = {
    Field::in_channels, Field::out_channels,  Field::kernel_size, Field::stride,       Field::padding,
    Field::dilation,    Field::groups,        Field::bias,        Field::padding_mode, Field::dtype,
    Field::out_dtype,   Field::layout,        Field::math,        Field::rounding,     Field::residual,
    Field::activation,  Field::negative_slope};
constexpr std::size_t convolution_positional = 9;

constexpr Field transposed_fields[] = {Field::in_channels, Field::out_channels,   Field::kernel_size, Field::stride,
                                       Field::padding,     Field::output_padding, Field::groups,      Field::bias,
                                       Field::dilation,    Field::padding_mode,   Field::dtype,       Field::out_dtype,
                                       Field::layout,      Field::math,           Field::rounding,    Field::residual,
                                       Field::activation,  Field::negative_slope};
constexpr std::size_t transposed_positional = 10;

constexpr Field separable_fields[] = {
    Field::in_channels, Field::out_channels,  Field::kernel_size,  Field::stride,           Field::padding,
    Field::dilation,    Field::bias,          Field::padding_mode, Field::depth_multiplier, Field::dtype,
    Field::out_dtype,   Field::layout,        Field::math,         Field::rounding,         Field::residual,
    Field::activation,  Field::negative_slope};
constexpr std::size_t separable_positional = 7;

constexpr Field variation_fields[] = {Field::bias,     Field::dtype,      Field::out_dtype,
                                      Field::layout,   Field::math,       Field::rounding,
                                      Field::residual, Field::activation, Field::negative_slope};

}  // namespace

const Layer* find_layer(std::string_view name) {
  const auto* const found = std::ranges::find(layers, name, &Layer::name);
  return found == std::end(layers) ? nullptr : found;
}

const Layer& layer_of(Kind kind, int rank) {
  return *std::ranges::find_if(layers, [&](const Layer& layer) { return layer.kind == kind && layer.rank == rank; });
}

std::vector<std::string_view> layer_names() {
  std::vector<std::string_view> result;
  for (const Layer& layer : layers) result.push_back(layer.name);
  return result;
}

Signature layer_signature(Kind kind) {
  switch (kind) {
    case Kind::convolution:
      return {convolution_fields, convolution_positional, required_count};
    case Kind::transposed:
      return {transposed_fields, transposed_positional, required_count};
    case Kind::depthwise_separable:
      return {separable_fields, separable_positional, required_count};
  }
  return {};
}

Signature variation_signature() { return {.fields = variation_fields}; }

std::vector<std::string_view> names(std::span<const Field> fields) {
  std::vector<std::string_view> result;
  for (const Field field : fields) result.push_back(name(field));
  return result;
}

}  // namespace tapconv
