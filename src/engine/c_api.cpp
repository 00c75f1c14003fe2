#include "engine/c_api.hpp"

#include <memory>

#include "problem/tensor_shape.hpp"
#include "tapconv/convolution.hpp"

static_assert(std::string_view(TAPCONV_VERSION) == TAPCONV_PROJECT_VERSION);

using tapconv::DType;
using tapconv::ErrorCode;
using tapconv::fail;
using namespace tapconv::c_api;

struct tapconv_convolution {
  tapconv::Convolution value;
  std::string implementation{};
};

namespace {

static_assert(TAPCONV_FLOAT32 == static_cast<int>(DType::float32));
static_assert(TAPCONV_FLOAT16 == static_cast<int>(DType::float16));
static_assert(TAPCONV_BFLOAT16 == static_cast<int>(DType::bfloat16));
static_assert(TAPCONV_FLOAT64 == static_cast<int>(DType::float64));
static_assert(TAPCONV_MAX_NDIM == tapconv::max_rank + 2);

static_assert(status_of(ErrorCode::usage) == TAPCONV_USAGE);
static_assert(status_of(ErrorCode::compile) == TAPCONV_COMPILE);
static_assert(status_of(ErrorCode::launch) == TAPCONV_LAUNCH);
static_assert(status_of(ErrorCode::memory) == TAPCONV_MEMORY);
static_assert(status_of(ErrorCode::environment) == TAPCONV_ENVIRONMENT);
static_assert(status_of(ErrorCode::internal) == TAPCONV_INTERNAL);

/// The message of this thread's last failure: `text`, or where there was no memory even for that, a constant.
struct LastError {
  std::string text;
  const char* message = "";
};
thread_local LastError last_error;

std::uint32_t copied_bit(tapconv::Access access, tapconv_role role) {
  return access == tapconv::Access::copied ? std::uint32_t{1} << role : 0;
}

}  // namespace

namespace tapconv::c_api {

tapconv_status failed(tapconv_status status, const char* message) noexcept {
  try {
    last_error.text = message;
    last_error.message = last_error.text.c_str();
  } catch (...) {
    last_error.message = "not enough memory for the message of an error";
  }
  return status;
}

std::vector<std::int64_t> sizes(const std::int64_t* numbers, std::int32_t ndim, const char* name) {
  constexpr std::int32_t most = 64;
  if (ndim < 1 || ndim > most) fail(ErrorCode::usage, "{}: ndim = {}; valid: 1 to {}", name, ndim, most);
  if (!numbers) fail(ErrorCode::usage, "{}: shape is null; valid: an array of ndim sizes", name);
  return {numbers, numbers + ndim};
}

MutableTensorView view_of(const tapconv_tensor& tensor, const char* name) {
  if (tensor.dtype < TAPCONV_FLOAT32 || tensor.dtype > TAPCONV_FLOAT64)
    fail(ErrorCode::usage, "{}: dtype = {}; valid: {} to {}", name, tensor.dtype, TAPCONV_FLOAT32, TAPCONV_FLOAT64);
  MutableTensorView view{.data = tensor.data,
                         .dtype = static_cast<DType>(tensor.dtype),
                         .shape = sizes(tensor.shape, tensor.ndim, name),
                         .strides = {}};
  if (tensor.strides) view.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  return view;
}

TensorView read_view(const tapconv_tensor& tensor, const char* name) {
  MutableTensorView view = view_of(tensor, name);
  return {.data = view.data, .dtype = view.dtype, .shape = std::move(view.shape), .strides = std::move(view.strides)};
}

std::optional<TensorView> optional_view(const tapconv_tensor* tensor, const char* name) {
  if (!tensor) return std::nullopt;
  return read_view(*tensor, name);
}

}  // namespace tapconv::c_api

tapconv_problem::tapconv_problem(const tapconv::Problem& problem) : value(problem), text(spell(problem)) {
  const auto describe = [&](tapconv_role role, DType dtype, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> strides = tapconv::strides_of(shape, problem.layout);
    tensors[static_cast<std::size_t>(role)] = {dtype, std::move(shape), std::move(strides)};
  };
  describe(TAPCONV_INPUT, problem.dtype, input_shape(problem));
  describe(TAPCONV_WEIGHT, problem.dtype, weight_shape(problem));
  describe(TAPCONV_OUTPUT, problem.out_dtype, output_shape(problem));
  if (problem.bias) describe(TAPCONV_BIAS, problem.dtype, {bias_count(problem)});
  if (problem.kind == tapconv::Kind::depthwise_separable) {
    describe(TAPCONV_POINTWISE_WEIGHT, problem.dtype, pointwise_weight_shape(problem));
    if (problem.bias) describe(TAPCONV_POINTWISE_BIAS, problem.dtype, {pointwise_bias_count(problem)});
  }
  if (problem.residual) describe(TAPCONV_RESIDUAL, problem.out_dtype, output_shape(problem));
}

extern "C" {

const char* tapconv_version(void) { return TAPCONV_VERSION; }

const char* tapconv_last_error(void) { return last_error.message; }

tapconv_status tapconv_problem_parse(const char* text, tapconv_problem** problem) {
  return guarded([&] {
    tapconv_problem*& target = cleared(problem, "problem");
    target = std::make_unique<tapconv_problem>(tapconv::parse_problem(&given(text, "text"))).release();
  });
}

tapconv_status tapconv_problem_with_input(const tapconv_problem* problem, const int64_t* shape, int32_t ndim,
                                          tapconv_problem** sized) {
  return guarded([&] {
    tapconv_problem*& target = cleared(sized, "sized");
    const tapconv::Problem& value = given(problem, "problem").value;
    target = std::make_unique<tapconv_problem>(with_input_shape(value, sizes(shape, ndim, "input"))).release();
  });
}

void tapconv_problem_destroy(tapconv_problem* problem) { delete problem; }

tapconv_status tapconv_problem_spell(const tapconv_problem* problem, const char** text) {
  return guarded([&] {
    const char*& target = cleared(text, "text");
    target = given(problem, "problem").text.c_str();
  });
}

tapconv_status tapconv_problem_tensor(const tapconv_problem* problem, tapconv_role role, tapconv_tensor* tensor) {
  return guarded([&] {
    tapconv_tensor& target = given(tensor, "tensor");
    if (role < TAPCONV_INPUT || role > TAPCONV_OUTPUT)
      fail(ErrorCode::usage, "role = {}; valid: {} to {}", role, TAPCONV_INPUT, TAPCONV_OUTPUT);
    const tapconv_problem::Description& found = given(problem, "problem").tensors[static_cast<std::size_t>(role)];
    const bool absent = found.shape.empty();
    target = {.data = nullptr,
              .dtype = static_cast<tapconv_dtype>(found.dtype),
              .ndim = static_cast<std::int32_t>(found.shape.size()),
              .shape = absent ? nullptr : found.shape.data(),
              .strides = absent ? nullptr : found.strides.data()};
  });
}

tapconv_status tapconv_tensor_bytes(const tapconv_tensor* tensor, size_t* bytes) {
  return guarded([&] {
    std::size_t& target = given(bytes, "bytes");
    if (given(tensor, "tensor").ndim == 0) {
      target = 0;
      return;
    }
    const tapconv::MutableTensorView view = view_of(*tensor, "tensor");
    target =
        static_cast<std::size_t>(tapconv::checked_count(view.shape, view.dtype, "tensor")) * element_bytes(view.dtype);
  });
}

tapconv_status tapconv_create(const tapconv_problem* problem, const char* device, int32_t threads,
                              tapconv_convolution** convolution) {
  return guarded([&] {
    tapconv_convolution*& target = cleared(convolution, "convolution");
    const tapconv::Problem& value = given(problem, "problem").value;
    const tapconv::Device place = tapconv::parse_device(&given(device, "device"));
    target = new tapconv_convolution{.value = tapconv::Convolution(value, place, {.threads = threads})};
  });
}

void tapconv_destroy(tapconv_convolution* convolution) { delete convolution; }

tapconv_status tapconv_implementation(tapconv_convolution* convolution, const char** text) {
  return guarded([&] {
    const char*& target = cleared(text, "text");
    tapconv_convolution& it = given(convolution, "convolution");
    it.implementation = it.value.implementation();
    target = it.implementation.c_str();
  });
}

tapconv_status tapconv_set_weights(tapconv_convolution* convolution, const tapconv_tensor* weight,
                                   const tapconv_tensor* bias, const tapconv_tensor* pointwise_weight,
                                   const tapconv_tensor* pointwise_bias) {
  return guarded([&] {
    given(convolution, "convolution")
        .value.set_weights({.weight = read_view(given(weight, "weight"), "weight"),
                            .bias = optional_view(bias, "bias"),
                            .pointwise_weight = optional_view(pointwise_weight, "pointwise_weight"),
                            .pointwise_bias = optional_view(pointwise_bias, "pointwise_bias")});
  });
}

tapconv_status tapconv_run(tapconv_convolution* convolution, const tapconv_tensor* input,
                           const tapconv_tensor* residual, const tapconv_tensor* output, uint32_t* copied) {
  return guarded([&] {
    const tapconv::Convolution::Accesses accesses =
        given(convolution, "convolution")
            .value.run(read_view(given(input, "input"), "input"), view_of(given(output, "output"), "output"),
                       optional_view(residual, "residual"));
    if (!copied) return;
    *copied = copied_bit(accesses.input, TAPCONV_INPUT) | copied_bit(accesses.output, TAPCONV_OUTPUT);
    if (accesses.residual) *copied |= copied_bit(*accesses.residual, TAPCONV_RESIDUAL);
  });
}

}  // extern "C"
