#include "engine/cuda_tensors.hpp"

#include <algorithm>
#include <memory>

#include "problem/text.hpp"
#include "solver/solver.hpp"

namespace tapconv {
namespace {

constexpr int threads = 256;

/// A buffer for a tensor, or an empty one where the problem has none.
cuda::Buffer buffer(const cuda::Context& context, bool exists, const std::vector<std::int64_t>& shape, DType dtype) {
  return {context, exists ? static_cast<std::size_t>(element_count(shape)) * element_bytes(dtype) : 0};
}

shared::Places places(const std::vector<std::int64_t>& shape, Layout layout) {
  const std::vector<std::int64_t> strides = strides_of(shape, layout);
  shared::Places places{.sizes = {1, 1, 1, 1, 1}, .strides = {0, 0, 0, 0, 0}};
  std::ranges::copy(shape, std::end(places.sizes) - shape.size());
  std::ranges::copy(strides, std::end(places.strides) - strides.size());
  return places;
}

shared::Type type(DType dtype) { return static_cast<shared::Type>(dtype); }

}  // namespace

CudaTensors::CudaTensors(const Problem& problem, const cuda::Context& context)
    : problem_(problem), context_(context), stream_(context) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  input_ = buffer(context, true, input_shape(problem), problem.dtype);
  weight_ = buffer(context, true, weight_shape(problem), problem.dtype);
  bias_ = buffer(context, problem.bias, {bias_count(problem)}, problem.dtype);
  pointwise_weight_ = buffer(context, separable, pointwise_weight_shape(problem), problem.dtype);
  pointwise_bias_ = buffer(context, separable && problem.bias, {pointwise_bias_count(problem)}, problem.dtype);
  residual_ = buffer(context, problem.residual, output_shape(problem), problem.out_dtype);
  output_ = buffer(context, true, output_shape(problem), problem.out_dtype);
}

DeviceTensors CudaTensors::pointers() const {
  return {.input = input_.as(),
          .weight = weight_.as(),
          .bias = bias_.as(),
          .pointwise_weight = pointwise_weight_.as(),
          .pointwise_bias = pointwise_bias_.as(),
          .residual = residual_.as(),
          .output = output_.as()};
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
  const auto fill_one = [&](const cuda::Buffer& buffer, const std::vector<std::int64_t>& shape, DType dtype,
                            const shared::Recipe& recipe) {
    if (buffer.bytes() == 0) return;
    const shared::FillArguments arguments{
        .target = buffer.as(), .type = type(dtype), .places = places(shape, problem_.layout), .recipe = recipe};
    launch_elementwise("fill", "FillArguments", arguments.places.count(), arguments);
  };
  fill_one(input_, input_shape(problem_), problem_.dtype, recipes.input);
  fill_one(weight_, weight_shape(problem_), problem_.dtype, recipes.weight);
  fill_one(bias_, {bias_count(problem_)}, problem_.dtype, recipes.bias);
  fill_one(pointwise_weight_, pointwise_weight_shape(problem_), problem_.dtype, recipes.pointwise_weight);
  fill_one(pointwise_bias_, {pointwise_bias_count(problem_)}, problem_.dtype, recipes.pointwise_bias);
  fill_one(residual_, output_shape(problem_), problem_.out_dtype, recipes.residual);
}

void CudaTensors::upload(const Operands& operands) {
  stream_.synchronize();
  const auto upload_one = [](cuda::Buffer& buffer, std::span<const std::byte> source) {
    if (!source.empty()) buffer.upload(source);
  };
  upload_one(input_, operands.input);
  upload_one(weight_, operands.weight);
  upload_one(bias_, operands.bias);
  upload_one(pointwise_weight_, operands.pointwise_weight);
  upload_one(pointwise_bias_, operands.pointwise_bias);
  upload_one(residual_, operands.residual);
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
  std::vector<double> values(outputs.size());
  std::vector<unsigned char> unwritten(outputs.size());
  const cuda::Buffer value_target(context_, values.size() * sizeof(double));
  const cuda::Buffer unwritten_target(context_, unwritten.size());
  const auto count = static_cast<long long>(outputs.size());
  launch_elementwise("gather", "GatherArguments", count,
                     shared::GatherArguments{.source = output_.as(),
                                             .type = type(problem_.out_dtype),
                                             .places = places(output_shape(problem_), problem_.layout),
                                             .indices = indices.as<long long>(),
                                             .count = count,
                                             .values = value_target.as<double>(),
                                             .unwritten = unwritten_target.as<bool>()});
  stream_.synchronize();
  value_target.download(std::as_writable_bytes(std::span(values)));
  unwritten_target.download(std::as_writable_bytes(std::span(unwritten)));
  return {.values = std::move(values), .unwritten = {unwritten.begin(), unwritten.end()}};
}

std::vector<OracleOutput> CudaTensors::evaluate(std::span<const std::int64_t> outputs, OperandRounding rounding) {
  const cuda::Buffer indices = upload_indices(outputs);
  const cuda::Buffer target(context_, outputs.size() * sizeof(shared::OracleResult));
  // No kernel writes what lies between the members of a result.
  stream_.fill_bytes(target.as(), 0, target.bytes());
  const auto count = static_cast<long long>(outputs.size());
  const Problem first = stages(problem_).front();
  // Of the axes as they are.
  const shared::Shape shape = shape_of({.problem = first, .input_dtype = problem_.dtype, .strided = true});
  const shared::Sizes sizes = sizes_of(first, true), last = sizes_of(stages(problem_).back(), true);
  const bool separable = problem_.kind == Kind::depthwise_separable;
  const std::vector<std::int64_t> pointwise =
      separable ? strides_of(pointwise_weight_shape(problem_), problem_.layout) : std::vector<std::int64_t>{0, 0};
  const DeviceTensors tensors = pointers();
  shared::OracleArguments arguments{.stage = {.transposed = shape.transposed,
                                              .boundary = shape.boundary,
                                              .in_channels = shape.in_channels,
                                              .out_channels = shape.out_channels,
                                              .axis = {shape.axis[0], shape.axis[1], shape.axis[2]},
                                              .input = sizes.input_strides,
                                              .weight = sizes.weight_strides},
                                    .tensors = {.input = tensors.input,
                                                .weight = tensors.weight,
                                                .bias = tensors.bias,
                                                .residual = tensors.residual,
                                                .output = nullptr},
                                    .type = type(problem_.dtype),
                                    .out_type = type(problem_.out_dtype),
                                    .bias = problem_.bias,
                                    .residual = problem_.residual,
                                    .channels = problem_.out_channels,
                                    .extent = {last.output[0], last.output[1], last.output[2]},
                                    .output = last.output_strides,
                                    .pointwise_channels = separable ? first.out_channels : 0,
                                    .pointwise_strides = {pointwise[0], pointwise[1]},
                                    .pointwise_weight = tensors.pointwise_weight,
                                    .pointwise_bias = tensors.pointwise_bias,
                                    .rounding = static_cast<shared::Rounding>(rounding),
                                    .outputs = indices.as<long long>(),
                                    .count = count,
                                    .results = target.as<shared::OracleResult>()};
  for (int i = 0; i < 3; ++i) {
    arguments.stage.axis[i].input = sizes.input[i];
    arguments.stage.axis[i].output = sizes.output[i];
  }
  const cuda::Kernel& kernel = *cuda::load(
      context_, kernel_source("tapconv_oracle", "tapconv/oracle.cuh", "", fmt::format("{}", threads), "OracleArguments",
                              fmt::format("tapconv::Oracle<{}>::run(arguments);",
                                          problem_.dtype == DType::float64 ? "double" : "float")));
  kernel.launch({.grid = {(count + threads - 1) / threads, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_bytes = 0},
                stream_.handle(), arguments);
  stream_.synchronize();
  std::vector<shared::OracleResult> results(outputs.size());
  target.download(std::as_writable_bytes(std::span(results)));

  const auto act = [&](double value) { return activate(problem_.activation, value, problem_.negative_slope); };
  std::vector<OracleOutput> found;
  found.reserve(results.size());
  for (const shared::OracleResult& one : results) {
    const double chain = act(one.chain);
    found.push_back({.value = act(one.sum),
                     .sum = one.sum,
                     .magnitude = one.magnitude,
                     .products = one.products,
                     .sequential = round_to(problem_.dtype == DType::float64 ? chain : static_cast<float>(chain),
                                            problem_.out_dtype),
                     .may_overflow = one.may_overflow});
  }
  return found;
}

Tensor CudaTensors::download() {
  stream_.synchronize();
  const auto owner = std::make_shared<std::vector<std::byte>>(output_.bytes());
  output_.download(*owner);
  const std::vector<std::int64_t> shape = output_shape(problem_);
  return {TensorView{.data = owner->data(),
                     .dtype = problem_.out_dtype,
                     .shape = shape,
                     .strides = strides_of(shape, problem_.layout)},
          owner};
}

void CudaTensors::download(HostTensors& target) const {
  stream_.synchronize();
  const auto download_one = [](const cuda::Buffer& buffer, std::vector<std::byte>& bytes) {
    if (!bytes.empty()) buffer.download(bytes);
  };
  download_one(input_, target.input);
  download_one(weight_, target.weight);
  download_one(bias_, target.bias);
  download_one(pointwise_weight_, target.pointwise_weight);
  download_one(pointwise_bias_, target.pointwise_bias);
  download_one(residual_, target.residual);
}

void CudaTensors::transpose(const shared::TransposeArguments& arguments) {
  const cuda::Kernel& kernel =
      *cuda::load(context_, kernel_source("tapconv_transpose", "tapconv/tools.cuh", "", "256", "TransposeArguments",
                                          "tapconv::transpose(arguments);"));
  const std::int64_t tiles = arguments.outer * ((arguments.rows + 31) / 32) * ((arguments.columns + 31) / 32);
  const std::int64_t blocks = std::clamp<std::int64_t>(tiles, 1, context_.facts().multiprocessors * 32);
  kernel.launch({.grid = {blocks, 1, 1}, .block = {32, 8, 1}, .dynamic_shared_bytes = 0}, stream_.handle(), arguments);
}

void CudaTensors::add_bias(void* output, std::int64_t outer, std::int64_t channels, std::int64_t inner) {
  launch_elementwise("add_bias", "AddBiasArguments", outer * channels * inner,
                     shared::AddBiasArguments{.output = output,
                                              .bias = bias_.as(),
                                              .type = type(problem_.out_dtype),
                                              .bias_type = type(problem_.dtype),
                                              .outer = outer,
                                              .channels = channels,
                                              .inner = inner});
}

void CudaTensors::hold(int microseconds) {
  launch_elementwise("hold", "HoldArguments", 1, shared::HoldArguments{.nanoseconds = 1000ll * microseconds});
}

void CudaTensors::flush_l2() {
  const std::size_t bytes = 3 * static_cast<std::size_t>(context_.facts().l2_bytes);
  if (scratch_.bytes() < bytes) scratch_ = cuda::Buffer(context_, bytes);
  stream_.fill_bytes(scratch_.as(), 0, scratch_.bytes());
}

}  // namespace tapconv
