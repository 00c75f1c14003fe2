#include <memory>
#include <span>

#include "engine/c_api.hpp"
#include "tapconv/device_convolution.hpp"

using tapconv::ErrorCode;
using tapconv::fail;
using namespace tapconv::c_api;

struct tapconv_device_convolution {
  tapconv::DeviceConvolution value;
};

namespace {

tapconv::DeviceOptions options_of(std::uint32_t options, std::size_t workspace_limit) {
  constexpr std::uint32_t all = TAPCONV_STRIDED | TAPCONV_PACKED | TAPCONV_CHECK_POINTERS;
  if ((options & ~all) != 0) fail(ErrorCode::usage, "options = {}; valid: 0 to {}", options, all);
  tapconv::DeviceOptions result{.strided = (options & TAPCONV_STRIDED) != 0,
                                .packed = (options & TAPCONV_PACKED) != 0,
                                .check_pointers = (options & TAPCONV_CHECK_POINTERS) != 0};
  if (workspace_limit != TAPCONV_NO_LIMIT) result.workspace_limit = workspace_limit;
  return result;
}

/// Null counts as no bytes.
std::span<std::byte> memory(void* data, std::size_t bytes) { return {static_cast<std::byte*>(data), data ? bytes : 0}; }

}  // namespace

extern "C" {

tapconv_status tapconv_device_create(const tapconv_problem* problem, int32_t device, uint32_t options,
                                     size_t workspace_limit, tapconv_device_convolution** convolution) {
  return guarded([&] {
    tapconv_device_convolution*& target = cleared(convolution, "convolution");
    const tapconv::Problem& value = given(problem, "problem").value;
    target = new tapconv_device_convolution{
        .value = tapconv::DeviceConvolution(value, device, options_of(options, workspace_limit))};
  });
}

void tapconv_device_destroy(tapconv_device_convolution* convolution) { delete convolution; }

tapconv_status tapconv_device_workspace(const tapconv_device_convolution* convolution, const int64_t* shape,
                                        int32_t ndim, size_t* bytes) {
  return guarded([&] {
    std::size_t& target = given(bytes, "bytes");
    target = given(convolution, "convolution").value.workspace_bytes(sizes(shape, ndim, "input"));
  });
}

tapconv_status tapconv_device_packed(const tapconv_device_convolution* convolution, size_t* bytes) {
  return guarded([&] {
    std::size_t& target = given(bytes, "bytes");
    target = given(convolution, "convolution").value.packed_bytes();
  });
}

tapconv_status tapconv_device_prepare(const tapconv_device_convolution* convolution, const tapconv_tensor* weight,
                                      const tapconv_tensor* pointwise_weight, void* packed, size_t packed_bytes,
                                      void* stream) {
  return guarded([&] {
    given(convolution, "convolution")
        .value.prepare(read_view(given(weight, "weight"), "weight"),
                       optional_view(pointwise_weight, "pointwise_weight"), memory(packed, packed_bytes), stream);
  });
}

tapconv_status tapconv_device_run(const tapconv_device_convolution* convolution, const tapconv_device_tensors* tensors,
                                  void* workspace, size_t workspace_bytes, void* stream) {
  return guarded([&] {
    const tapconv_device_tensors& all = given(tensors, "tensors");
    given(convolution, "convolution")
        .value.run({.input = read_view(given(all.input, "input"), "input"),
                    .weight = optional_view(all.weight, "weight"),
                    .bias = optional_view(all.bias, "bias"),
                    .pointwise_weight = optional_view(all.pointwise_weight, "pointwise_weight"),
                    .pointwise_bias = optional_view(all.pointwise_bias, "pointwise_bias"),
                    .residual = optional_view(all.residual, "residual"),
                    .output = view_of(given(all.output, "output"), "output"),
                    .packed = memory(const_cast<void*>(all.packed), all.packed_bytes)},
                   memory(workspace, workspace_bytes), stream);
  });
}

}  // extern "C"
