#include "engine/session.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/cuda_session.hpp"
#include "engine/dense_operand.hpp"
#include "engine/device.hpp"
#include "engine/host_session.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// The seeds of the operands are apart, so that no two tensors are correlated.
constexpr std::uint64_t operand_count = 6;

shared::Recipe recipe(shared::Values values, double scale, float keep = 1) {
  return {.seed = 0, .values = values, .scale = static_cast<float>(scale), .keep = keep};
}

Recipes seeded(Recipes recipes, std::uint64_t seed) {
  std::uint64_t index = 0;
  for (shared::Recipe* one : {&recipes.input, &recipes.weight, &recipes.bias, &recipes.pointwise_weight,
                              &recipes.pointwise_bias, &recipes.residual})
    one->seed = operand_count * seed + index++;
  return recipes;
}

/// A given tensor, dense in `layout`: its own memory if it lies so, else a copy in `buffer`.
std::span<const std::byte> checked(const std::optional<Tensor>& tensor, std::string_view field,
                                   const std::vector<std::int64_t>& shape, DType dtype, Layout layout,
                                   std::vector<std::byte>& buffer) {
  if (!tensor) return {};
  check_operand(tensor->view(), field, shape, dtype);
  return dense_operand(tensor->view(), field, layout, buffer);
}

void refuse_tensor(bool given, std::string_view field, std::string_view why) {
  if (given) fail(ErrorCode::usage, "{} is given; the problem has {}", field, why);
}

}  // namespace

std::unique_ptr<Session> Session::open(const Problem& problem, const Device& device) {
  validate(problem);
  expect_hardware(device, "compute");
  if (device.kind == Device::Kind::cpu) return open_host_session(problem, device.threads);
  return open_cuda_session(problem, device.index);
}

std::unique_ptr<Executable> Session::engine_by(const Chooser&) {
  fail(ErrorCode::usage, "device = {}; its plans cannot be chosen; valid: cuda, cuda:N", device_name());
}

double products_of_output(const Problem& problem) {
  double length = static_cast<double>(problem.in_channels / problem.groups);
  for (const std::int64_t taps : problem.kernel) length *= static_cast<double>(taps);
  return length;
}

Recipes uniform_recipes(const Problem& problem, std::uint64_t seed) {
  using shared::Values;
  const std::vector<Problem> parts = stages(problem);
  const double scale = 1 / std::sqrt(products_of_output(parts.front())),
               pointwise = 1 / std::sqrt(products_of_output(parts.back()));
  return seeded({.input = recipe(Values::unit, 1),
                 .weight = recipe(Values::signed_, scale),
                 .bias = recipe(Values::signed_, scale),
                 .pointwise_weight = recipe(Values::signed_, pointwise),
                 .pointwise_bias = recipe(Values::signed_, pointwise),
                 .residual = recipe(Values::signed_, 1)},
                seed);
}

Recipes sparse_recipes(const Problem& problem, std::uint64_t seed) {
  using shared::Values;
  // On average eight products a sum, so that K runs from 0 to about 16. Where two sums follow each other the pointwise
  // weights are as sparse.
  const std::vector<Problem> parts = stages(problem);
  const auto keep = static_cast<float>(std::min(1.0, 8 / products_of_output(parts.front())));
  const auto keep_pointwise = static_cast<float>(std::min(1.0, 8 / products_of_output(parts.back())));
  return seeded({.input = recipe(Values::signed_, 1, keep),
                 .weight = recipe(Values::signed_, 1),
                 .bias = recipe(Values::signed_, 1, 0.5f),
                 .pointwise_weight = recipe(Values::signed_, 1, keep_pointwise),
                 .pointwise_bias = recipe(Values::signed_, 1, 0.5f),
                 .residual = recipe(Values::signed_, 1, 0.5f)},
                seed);
}

Recipes tie_recipes(const Problem& problem, std::uint64_t seed) {
  using shared::Values;
  // So few that the errors of adding them, above all of additions that truncate, stay far below those of rounding.
  constexpr double products = 256;
  const std::vector<Problem> parts = stages(problem);
  const auto keep = static_cast<float>(std::min(1.0, products / products_of_output(parts.front())));
  const auto keep_pointwise = static_cast<float>(std::min(1.0, products / products_of_output(parts.back())));
  // Where fp16 has three or four bits left, but of float16 itself. Inputs make up for it, so that 16-bit outputs are
  // not subnormal.
  const bool half = problem.dtype == DType::float16;
  const double input = half ? 0x1p4 : 0x1p12, rounded_weight = half ? 0x1p-12 : 0x1p-20;
  const bool separable = problem.kind == Kind::depthwise_separable;
  const double weight = separable ? 1 : rounded_weight;  // of the depthwise half, which nothing rounds
  return seeded({.input = recipe(Values::ties, input, keep),
                 .weight = recipe(Values::ties, weight),
                 .bias = recipe(Values::signed_, input * weight),
                 .pointwise_weight = recipe(Values::ties, rounded_weight, keep_pointwise),
                 .pointwise_bias = recipe(Values::signed_, input * rounded_weight),
                 .residual = recipe(Values::signed_, input * rounded_weight)},
                seed);
}

void upload_given(Session& session, const TensorSource& tensors) {
  const Problem& p = session.problem();
  const bool separable = p.kind == Kind::depthwise_separable;
  refuse_tensor(tensors.bias && !p.bias, "bias", "bias=False");
  refuse_tensor(tensors.pointwise_bias && !(p.bias && separable), "pointwise_bias", "none");
  refuse_tensor(tensors.pointwise_weight && !separable, "pointwise_weight", "none");
  refuse_tensor(tensors.residual && !p.residual, "residual", "residual=False");
  std::array<std::vector<std::byte>, operand_count> buffers;
  session.upload(
      {.input = checked(tensors.input, "input", input_shape(p), p.dtype, p.layout, buffers[0]),
       .weight = checked(tensors.weight, "weight", weight_shape(p), p.dtype, p.layout, buffers[1]),
       .bias = checked(tensors.bias, "bias", {bias_count(p)}, p.dtype, p.layout, buffers[2]),
       .pointwise_weight = checked(tensors.pointwise_weight, "pointwise_weight", pointwise_weight_shape(p), p.dtype,
                                   p.layout, buffers[3]),
       .pointwise_bias =
           checked(tensors.pointwise_bias, "pointwise_bias", {pointwise_bias_count(p)}, p.dtype, p.layout, buffers[4]),
       .residual = checked(tensors.residual, "residual", output_shape(p), p.out_dtype, p.layout, buffers[5])});
}

void upload_given_output(Session& session, const Tensor& output) {
  const Problem& p = session.problem();
  std::vector<std::byte> buffer;
  session.upload_output(checked(output, "output", output_shape(p), p.out_dtype, p.layout, buffer));
}

}  // namespace tapconv
