#include "engine/session.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/cpu_session.hpp"
#include "engine/cuda_session.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

double reduction(const Problem& problem) {
  double length = static_cast<double>(problem.in_channels / problem.groups);
  for (const std::int64_t taps : problem.kernel) length *= static_cast<double>(taps);
  return length;
}

/// The seeds of the operands are apart, so that no two tensors are correlated.
Recipes recipes(std::uint64_t seed, shared::Recipe input, shared::Recipe weight, shared::Recipe bias) {
  input.seed = 3 * seed;
  weight.seed = 3 * seed + 1;
  bias.seed = 3 * seed + 2;
  return {input, weight, bias};
}

std::span<const float> checked(const std::optional<Tensor>& tensor, const char* field,
                               const std::vector<std::int64_t>& shape) {
  if (!tensor) return {};
  if (tensor->shape() != shape)
    fail(ErrorCode::usage, "{} has shape ({}); the problem needs ({})", field, fmt::join(tensor->shape(), ", "),
         fmt::join(shape, ", "));
  if (tensor->dtype() != DType::float32 || tensor->strides() != strides_of(shape, Layout::contiguous))
    fail(ErrorCode::usage, "{} is {} with strides ({}); contiguous float32 is valid", field, name(tensor->dtype()),
         fmt::join(tensor->strides(), ", "));
  return {static_cast<const float*>(tensor->view().data), static_cast<std::size_t>(tensor->size())};
}

}  // namespace

std::unique_ptr<Session> Session::open(const Problem& problem, const Device& device) {
  validate(problem);
  if (device.kind == Device::Kind::cpu) return open_cpu_session(problem);
  return open_cuda_session(problem, device.index);
}

bool Session::unwritten(float value) { return std::bit_cast<std::uint32_t>(value) == 0xffffffffu; }

Recipes uniform_recipes(const Problem& problem, std::uint64_t seed) {
  const auto scale = static_cast<float>(1 / std::sqrt(reduction(problem)));
  return recipes(seed, {.seed = 0, .values = shared::Values::unit, .scale = 1, .keep = 1},
                 {.seed = 0, .values = shared::Values::signed_, .scale = scale, .keep = 1},
                 {.seed = 0, .values = shared::Values::signed_, .scale = scale, .keep = 1});
}

Recipes sparse_recipes(const Problem& problem, std::uint64_t seed) {
  // On average eight products a sum, so that K runs from 0 to about 16.
  const auto keep = static_cast<float>(std::min(1.0, 8 / reduction(problem)));
  return recipes(seed, {.seed = 0, .values = shared::Values::signed_, .scale = 1, .keep = keep},
                 {.seed = 0, .values = shared::Values::signed_, .scale = 1, .keep = 1},
                 {.seed = 0, .values = shared::Values::signed_, .scale = 1, .keep = 0.5f});
}

Recipes tie_recipes(const Problem&, std::uint64_t seed) {
  return recipes(seed, {.seed = 0, .values = shared::Values::ties, .scale = 1, .keep = 1},
                 {.seed = 0, .values = shared::Values::ties, .scale = 0x1p-16f, .keep = 1},
                 {.seed = 0, .values = shared::Values::signed_, .scale = 0x1p-16f, .keep = 1});
}

void upload_given(Session& session, const TensorSource& tensors) {
  const Problem& problem = session.problem();
  if (tensors.bias && !problem.bias) fail(ErrorCode::usage, "bias is given; the problem has bias=False");
  session.upload({.input = checked(tensors.input, "input", input_shape(problem)),
                  .weight = checked(tensors.weight, "weight", weight_shape(problem)),
                  .bias = checked(tensors.bias, "bias", {problem.out_channels})});
}

}  // namespace tapconv
