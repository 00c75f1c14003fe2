#include "oracle/oracle.hpp"

#include <cmath>

#include "problem/lowering.hpp"
#include "problem/parallel.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Where an output lies: its image, output channel (over all groups) and grid position.
struct Place {
  std::int64_t image, channel;
  std::array<std::int64_t, 3> position;
};

Place place_of(const TapConvolution& conv, std::int64_t output) {
  Place place{};
  for (int i = 2; i >= 0; --i) {
    place.position[i] = output % conv.axis[i].output;
    output /= conv.axis[i].output;
  }
  const std::int64_t channels = conv.groups * conv.out_channels;
  place.channel = output % channels;
  place.image = output / channels;
  return place;
}

OracleOutput evaluate(const TapConvolution& conv, const Operands& operands, const Place& place,
                      OperandRounding rounding) {
  const auto& [depth, height, width] = conv.axis;
  const std::int64_t group = place.channel / conv.out_channels;
  const float* image =
      operands.input.data() + (place.image * conv.groups + group) * conv.in_channels * conv.input_size();
  const float* weight = operands.weight.data() + place.channel * conv.in_channels * conv.tap_count();
  OracleOutput out{};
  for (std::int64_t c = 0; c < conv.in_channels; ++c, image += conv.input_size()) {
    for (std::int64_t t0 = 0; t0 < depth.taps; ++t0) {
      for (std::int64_t t1 = 0; t1 < height.taps; ++t1) {
        for (std::int64_t t2 = 0; t2 < width.taps; ++t2, ++weight) {
          const std::int64_t d = depth.in_step * place.position[0] + depth.offset(t0);
          const std::int64_t h = height.in_step * place.position[1] + height.offset(t1);
          const std::int64_t w = width.in_step * place.position[2] + width.offset(t2);
          const bool inside = d >= 0 && d < depth.input && h >= 0 && h < height.input && w >= 0 && w < width.input;
          const float x = inside ? round_operand(image[(d * height.input + h) * width.input + w], rounding) : 0.0f;
          const float k = round_operand(*weight, rounding);
          const double product = static_cast<double>(x) * static_cast<double>(k);
          out.value += product;
          if (std::isfinite(product)) out.magnitude += std::abs(product);
          out.products += product != 0.0;
          out.sequential = std::fma(x, k, out.sequential);
        }
      }
    }
  }
  if (conv.bias) {
    const float bias = operands.bias[place.channel];
    out.value += bias;
    if (std::isfinite(bias)) out.magnitude += std::abs(bias);
    out.sequential += bias;
  }
  return out;
}

void expect_size(const char* field, std::size_t size, std::int64_t expected) {
  if (static_cast<std::int64_t>(size) != expected)
    fail(ErrorCode::usage, "{} has {} elements; the problem needs {}", field, size, expected);
}

}  // namespace

std::vector<OracleOutput> oracle(const Problem& problem, const Operands& operands,
                                 std::span<const std::int64_t> outputs, OperandRounding rounding) {
  expect_size("input", operands.input.size(), element_count(input_shape(problem)));
  expect_size("weight", operands.weight.size(), element_count(weight_shape(problem)));
  expect_size("bias", operands.bias.size(), problem.bias ? problem.out_channels : 0);
  const std::int64_t total = element_count(output_shape(problem));
  for (const std::int64_t output : outputs) {
    if (output < 0 || output >= total) fail(ErrorCode::usage, "output index = {}; valid: 0 to {}", output, total - 1);
  }
  // A convolution is one tap convolution, whose grid is the output.
  const TapConvolution conv = lower(problem).front();
  std::vector<OracleOutput> results(outputs.size());
  parallel_for(static_cast<std::int64_t>(outputs.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      results[i] = evaluate(conv, operands, place_of(conv, outputs[i]), rounding);
  });
  return results;
}

}  // namespace tapconv
