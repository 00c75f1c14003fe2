#include "engine/cuda_tensors.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "problem/text.hpp"
#include "solver/solver.hpp"

namespace tapconv {
namespace {

constexpr int threads = 256;

std::size_t bytes_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(element_count(shape)) * sizeof(float);
}

}  // namespace

CudaTensors::CudaTensors(const Problem& problem, const cuda::Context& context)
    : problem_(problem),
      context_(context),
      stream_(context),
      input_(context, bytes_of(input_shape(problem))),
      weight_(context, bytes_of(weight_shape(problem))),
      bias_(context, problem.bias ? bytes_of({problem.out_channels}) : 0),
      output_(context, bytes_of(output_shape(problem))) {}

shared::Tensors CudaTensors::pointers() const {
  return {.input = input_.as<float>(),
          .weight = weight_.as<float>(),
          .bias = bias_.as<float>(),
          .output = output_.as<float>()};
}

template <class Arguments>
void CudaTensors::launch_elementwise(const char* function, const char* arguments_type, std::int64_t count,
                                     const Arguments& arguments) {
  const cuda::Kernel*& kernel = elementwise_[function];
  if (!kernel)
    kernel = cuda::load(context_, kernel_source(fmt::format("tapconv_{}", function), "tapconv/tools.cuh", "",
                                                fmt::format("{}", threads), arguments_type,
                                                fmt::format("tapconv::{}(arguments);", function)));
  // Enough blocks to fill the device; the kernels stride over the rest.
  const std::int64_t blocks =
      std::clamp<std::int64_t>((count + threads - 1) / threads, 1, context_.facts().multiprocessors * 16);
  kernel->launch({.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_bytes = 0}, stream_.handle(),
                 arguments);
}

void CudaTensors::fill(const Recipes& recipes) {
  const auto fill_one = [&](const cuda::Buffer& buffer, const shared::Recipe& recipe) {
    const auto count = static_cast<long long>(buffer.bytes() / sizeof(float));
    if (count == 0) return;
    launch_elementwise("fill", "FillArguments", count,
                       shared::FillArguments{.target = buffer.as<float>(), .count = count, .recipe = recipe});
  };
  fill_one(input_, recipes.input);
  fill_one(weight_, recipes.weight);
  fill_one(bias_, recipes.bias);
}

void CudaTensors::upload(const Operands& operands) {
  stream_.synchronize();
  if (!operands.input.empty()) input_.upload(operands.input);
  if (!operands.weight.empty()) weight_.upload(operands.weight);
  if (!operands.bias.empty()) bias_.upload(operands.bias);
}

void CudaTensors::upload_output(std::span<const std::byte> output) {
  stream_.synchronize();
  output_.upload(output);
}

void CudaTensors::fill_output(unsigned char byte) { stream_.fill_bytes(output_.as(), byte, output_.bytes()); }

cuda::Buffer CudaTensors::upload_indices(std::span<const std::int64_t> outputs) const {
  cuda::Buffer indices(context_, outputs.size_bytes());
  indices.upload(std::as_bytes(outputs));
  return indices;
}

Outputs CudaTensors::gather(std::span<const std::int64_t> outputs) {
  const cuda::Buffer indices = upload_indices(outputs);
  std::vector<float> values(outputs.size());
  const cuda::Buffer target(context_, values.size() * sizeof(float));
  const auto count = static_cast<long long>(outputs.size());
  launch_elementwise("gather", "GatherArguments", count,
                     shared::GatherArguments{.source = output_.as<float>(),
                                             .indices = indices.as<long long>(),
                                             .count = count,
                                             .target = target.as<float>()});
  stream_.synchronize();
  target.download(std::as_writable_bytes(std::span(values)));
  Outputs found{.values = {values.begin(), values.end()}, .unwritten = {}};
  for (const float value : values) found.unwritten.push_back(std::bit_cast<std::uint32_t>(value) == 0xffffffffu);
  return found;
}

std::vector<OracleOutput> CudaTensors::evaluate(std::span<const std::int64_t> outputs, OperandRounding rounding) {
  // A convolution is one tap convolution, whose grid is the output.
  const TapConvolution conv = lower(problem_).front();
  const cuda::Kernel& kernel = *cuda::load(
      context_, kernel_source("tapconv_oracle", "tapconv/oracle.cuh",
                              fmt::format("  static constexpr shared::Shape shape = {};\n", shape_text(conv)),
                              fmt::format("{}", threads), "OracleArguments",
                              "tapconv::Oracle<tapconv::Config>::run(arguments);"));
  const cuda::Buffer indices = upload_indices(outputs);
  std::vector<shared::OracleOutput> results(outputs.size());
  const cuda::Buffer target(context_, results.size() * sizeof(shared::OracleOutput));
  const auto count = static_cast<long long>(outputs.size());
  kernel.launch({.grid = {(count + threads - 1) / threads, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_bytes = 0},
                stream_.handle(),
                shared::OracleArguments{.tensors = pointers(),
                                        .rounding = static_cast<shared::Rounding>(rounding),
                                        .outputs = indices.as<long long>(),
                                        .count = count,
                                        .results = target.as<shared::OracleOutput>()});
  stream_.synchronize();
  target.download(std::as_writable_bytes(std::span(results)));
  std::vector<OracleOutput> found;
  for (const shared::OracleOutput& one : results)
    found.push_back({.value = one.value,
                     .sum = one.value,
                     .magnitude = one.magnitude,
                     .products = one.products,
                     .sequential = one.sequential,
                     .may_overflow = one.magnitude > std::numeric_limits<float>::max()});
  return found;
}

Tensor CudaTensors::download() {
  stream_.synchronize();
  Tensor output(DType::float32, output_shape(problem_));
  output_.download({static_cast<std::byte*>(output.mutable_view().data), output_.bytes()});
  return output;
}

void CudaTensors::transpose(const shared::TransposeArguments& arguments) {
  const cuda::Kernel& kernel =
      *cuda::load(context_, kernel_source("tapconv_transpose", "tapconv/tools.cuh", "", "256", "TransposeArguments",
                                          "tapconv::transpose(arguments);"));
  const std::int64_t tiles = arguments.outer * ((arguments.rows + 31) / 32) * ((arguments.columns + 31) / 32);
  const std::int64_t blocks = std::clamp<std::int64_t>(tiles, 1, context_.facts().multiprocessors * 32);
  kernel.launch({.grid = {blocks, 1, 1}, .block = {32, 8, 1}, .dynamic_shared_bytes = 0}, stream_.handle(), arguments);
}

void CudaTensors::add_bias(float* output, std::int64_t outer, std::int64_t channels, std::int64_t inner) {
  launch_elementwise(
      "add_bias", "AddBiasArguments", outer * channels * inner,
      shared::AddBiasArguments{
          .output = output, .bias = bias_.as<float>(), .outer = outer, .channels = channels, .inner = inner});
}

void CudaTensors::flush_l2() {
  const std::size_t bytes = 3 * static_cast<std::size_t>(context_.facts().l2_bytes);
  if (scratch_.bytes() < bytes) scratch_ = cuda::Buffer(context_, bytes);
  stream_.fill_bytes(scratch_.as(), 0, scratch_.bytes());
}

}  // namespace tapconv
