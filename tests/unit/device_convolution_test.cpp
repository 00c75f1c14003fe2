#include "tapconv/device_convolution.hpp"

#include <gtest/gtest.h>

#include "cuda/driver.hpp"
#include "engine/device_arguments.hpp"
#include "strided.hpp"
#include "tapconv/tapconv.h"

namespace tapconv {
namespace {

using testing::expect_error;

/// What only the addresses matter of: nothing reads the memory of these tensors. Each lies at its own place.
struct Places {
  explicit Places(const Problem& p) : problem(p) {
    views.input = place(p.dtype, input_shape(p));
    views.weight = place(p.dtype, weight_shape(p));
    if (p.bias) views.bias = place(p.dtype, {bias_count(p)});
    if (p.kind == Kind::depthwise_separable) {
      views.pointwise_weight = place(p.dtype, pointwise_weight_shape(p));
      if (p.bias) views.pointwise_bias = place(p.dtype, {pointwise_bias_count(p)});
    }
    if (p.residual) views.residual = place(p.out_dtype, output_shape(p));
    const TensorView output = place(p.out_dtype, output_shape(p));
    views.output = {.data = const_cast<void*>(output.data),
                    .dtype = output.dtype,
                    .shape = output.shape,
                    .strides = output.strides};
  }

  TensorView place(DType dtype, std::vector<std::int64_t> shape) {
    next += 0x100000;
    std::vector<std::int64_t> strides = strides_of(shape, problem.layout);
    return {.data = reinterpret_cast<const void*>(next), .dtype = dtype, .shape = std::move(shape), .strides = strides};
  }

  [[nodiscard]] DeviceCall check(const DeviceOptions& options = {}, std::span<const std::byte> workspace = {}) const {
    return check_run(problem, options, views, workspace);
  }

  Problem problem;
  std::uintptr_t next = 0;
  DeviceViews views{};
};

Problem everything() {
  return parse_problem("DepthwiseSeparable2d(4, 6, 3, padding=1, residual=True, activation=relu) @ 2x4x8x9");
}

std::span<std::byte> memory(std::uintptr_t address, std::size_t bytes) {
  return {reinterpret_cast<std::byte*>(address), bytes};
}

TEST(DeviceArguments, PointersGoWhereTheyBelong) {
  const Places places(everything());
  const DeviceCall call = places.check();
  EXPECT_EQ(places.problem, call.sized);
  EXPECT_EQ(places.views.input.data, call.tensors.input);
  EXPECT_EQ(places.views.weight->data, call.tensors.weight);
  EXPECT_EQ(places.views.bias->data, call.tensors.bias);
  EXPECT_EQ(places.views.pointwise_weight->data, call.tensors.pointwise_weight);
  EXPECT_EQ(places.views.pointwise_bias->data, call.tensors.pointwise_bias);
  EXPECT_EQ(places.views.residual->data, call.tensors.residual);
  EXPECT_EQ(places.views.output.data, call.tensors.output);
  EXPECT_EQ(nullptr, call.tensors.packed);
  EXPECT_FALSE(call.strides);
}

TEST(DeviceArguments, TakesSizesFromTheInput) {
  Problem problem = parse_problem("Conv2d(3, 4, 3) @ 2x3x8x9");
  problem.dynamic_batch = problem.dynamic_input[1] = true;
  Problem sized = problem;
  sized.batch = 7;
  sized.input[1] = 30;
  Places places(sized);
  places.problem = problem;
  EXPECT_EQ(sized, places.check().sized);
  sized.input[0] = 10;
  Places other(sized);
  other.problem = problem;
  expect_error([&] { (void)other.check(); }, "input has shape (7, 3, 10, 30); the problem needs (any, 3, 8, any)");
}

TEST(DeviceArguments, RefusesWhatIsMissingOrTooMuch) {
  const auto refused = [](const auto& change, std::string_view part) {
    Places places(everything());
    change(places.views);
    expect_error([&] { (void)places.check(); }, part);
  };
  refused([](DeviceViews& v) { v.input.data = nullptr; }, "input: data is null");
  refused([](DeviceViews& v) { v.output.data = nullptr; }, "output: data is null");
  refused([](DeviceViews& v) { v.weight.reset(); }, "weight is missing");
  refused([](DeviceViews& v) { v.bias.reset(); }, "bias is missing; the problem has bias=True");
  refused([](DeviceViews& v) { v.pointwise_weight.reset(); }, "pointwise_weight is missing");
  refused([](DeviceViews& v) { v.pointwise_bias.reset(); }, "pointwise_bias is missing");
  refused([](DeviceViews& v) { v.residual.reset(); }, "residual is missing");
  refused([](DeviceViews& v) { v.packed = memory(0x5000000, 256); }, "packed is given");
  refused([](DeviceViews& v) { v.weight->shape = {4, 1, 3, 4}; }, "weight has shape (4, 1, 3, 4)");
  refused([](DeviceViews& v) { v.output.dtype = DType::float16; }, "output is of float16");
  refused([](DeviceViews& v) { v.residual->shape.pop_back(); }, "residual");

  Places plain(parse_problem("Conv1d(3, 4, 3, bias=False) @ 2x3x9"));
  plain.views.bias = plain.place(DType::float32, {4});
  expect_error([&] { (void)plain.check(); }, "bias is given; the problem has bias=False");
}

TEST(DeviceArguments, StridesNeedTheOption) {
  Places places(parse_problem("Conv2d(3, 4, 3, residual=True) @ 2x3x8x9"));
  places.views.input.strides = {-216, 72, 1, 8};
  places.views.residual->strides = {0, 0, 0, 0};
  expect_error([&] { (void)places.check(); }, "input has strides (-216, 72, 1, 8); valid: (216, 72, 9, 1) as in a");
  const DeviceCall call = places.check({.strided = true});
  ASSERT_TRUE(call.strides);
  EXPECT_EQ(-216, call.strides->input.outer);
  EXPECT_EQ(72, call.strides->input.inner);
  EXPECT_EQ(0, call.strides->input.axis[0]);
  EXPECT_EQ(1, call.strides->input.axis[1]);
  EXPECT_EQ(8, call.strides->input.axis[2]);
  EXPECT_EQ(0, call.strides->residual.outer);
  EXPECT_EQ(168, call.strides->output.outer);
  EXPECT_EQ(27, call.strides->weight.out_channel);
  EXPECT_EQ(9, call.strides->weight.in_channel);
  // Strides of axes of size 1 do not matter.
  Places one(parse_problem("Conv2d(3, 4, 3) @ 1x3x8x9"));
  one.views.input.strides[0] = 12345;
  EXPECT_FALSE(one.check().strides);
}

TEST(DeviceArguments, BiasesHaveNoGaps) {
  Places places(parse_problem("Conv1d(3, 4, 3) @ 2x3x9"));
  places.views.bias->strides = {2};
  expect_error([&] { (void)places.check({.strided = true}); }, "bias has a stride of 2; valid: 1");
  Places one(parse_problem("Conv1d(3, 1, 3) @ 2x3x9"));
  one.views.bias->strides = {2};
  EXPECT_NO_THROW((void)one.check());
}

TEST(DeviceArguments, AddressesAreMultiplesOfTheElements) {
  Places places(parse_problem("Conv1d(3, 4, 3) @ 2x3x9"));
  places.views.weight->data = reinterpret_cast<const void*>(0x7000002);
  expect_error([&] { (void)places.check({.strided = true}); },
               "weight is at 0x7000002; valid: a multiple of its elements' 4 bytes");
}

TEST(DeviceArguments, OutputsAndWorkspacesAreApartFromAllElse) {
  const auto refused = [](const auto& change, std::string_view part) {
    Places places(everything());
    std::span<std::byte> workspace = memory(0x9000000, 4096);
    change(places.views, workspace);
    expect_error([&] { (void)places.check({.strided = true}, workspace); }, part);
  };
  refused([](DeviceViews& v, auto&) { v.output.data = const_cast<void*>(v.input.data); },
          "output lies in the memory of input");
  refused([](DeviceViews& v, auto&) { v.residual->data = static_cast<const char*>(v.output.data) + 4; },
          "output lies in the memory of residual");
  refused([](DeviceViews& v, auto&) { v.bias->data = v.output.data; }, "output lies in the memory of bias");
  refused([](DeviceViews& v, auto& w) { w = memory(reinterpret_cast<std::uintptr_t>(v.weight->data), 256); },
          "workspace lies in the memory of weight");
  refused([](DeviceViews& v, auto& w) { w = memory(reinterpret_cast<std::uintptr_t>(v.output.data), 256); },
          "workspace lies in the memory of output");
  refused([](DeviceViews& v, auto&) { v.output.strides = {0, 72, 9, 1}; }, "by which elements share memory");
  // Everything that is read may share.
  Places shared(everything());
  shared.views.pointwise_bias->data = shared.views.input.data;
  EXPECT_NO_THROW((void)shared.check({}, memory(0x9000000, 4096)));
}

TEST(DeviceArguments, PackedWeightsComeInPlaceOfWeights) {
  Places places(everything());
  expect_error([&] { (void)places.check({.packed = true}); }, "weight is given; valid with the option `packed`");
  places.views.weight.reset();
  expect_error([&] { (void)places.check({.packed = true}); }, "pointwise_weight is given");
  places.views.pointwise_weight.reset();
  places.views.packed = memory(0x5000000, 256);
  const DeviceCall call = places.check({.packed = true});
  EXPECT_EQ(places.views.packed.data(), call.tensors.packed);
  EXPECT_EQ(nullptr, call.tensors.weight);
  places.views.output.data = reinterpret_cast<void*>(0x5000000);
  expect_error([&] { (void)places.check({.packed = true}); }, "output lies in the memory of packed");
}

TEST(DeviceArguments, OfPrepare) {
  const Places places(everything());
  const TensorView weight = *places.views.weight, pointwise = *places.views.pointwise_weight;
  const std::span<std::byte> target = memory(0x9000000, 4096);
  const auto check = [&](const DeviceOptions& options, const TensorView& w, const std::optional<TensorView>& p,
                         std::span<const std::byte> to) { return check_prepare(places.problem, options, w, p, to); };
  expect_error([&] { (void)check({}, weight, pointwise, target); }, "valid with the option `packed` alone");
  expect_error([&] { (void)check({.packed = true}, weight, std::nullopt, target); }, "pointwise_weight is missing");
  expect_error([&] { (void)check({.packed = true}, pointwise, pointwise, target); }, "weight has shape (6, 4, 1, 1)");
  expect_error(
      [&] {
        (void)check({.packed = true}, weight, pointwise, memory(reinterpret_cast<std::uintptr_t>(weight.data), 8));
      },
      "packed lies in the memory of the weights");
  EXPECT_EQ(weight.data, check({.packed = true}, weight, pointwise, target).tensors.weight);
  TensorView turned = weight;
  turned.strides = {9, 9, 1, 3};
  expect_error([&] { (void)check({.packed = true}, turned, pointwise, target); }, "weight has strides (9, 9, 1, 3)");
  const DeviceCall call = check({.strided = true, .packed = true}, turned, pointwise, target);
  EXPECT_EQ(1, call.strides->weight.axis[1]);
  EXPECT_EQ(3, call.strides->weight.axis[2]);
}

TEST(DeviceArguments, MemoryIsLargeEnoughAndAligned) {
  EXPECT_NO_THROW(check_memory({}, 0, "workspace"));
  EXPECT_NO_THROW(check_memory(memory(0x1000, 512), 512, "workspace"));
  expect_error([] { check_memory({}, 512, "workspace"); }, "workspace has 0 bytes");
  expect_error([] { check_memory(memory(0x1000, 511), 512, "workspace"); },
               "workspace has 511 bytes at 0x1000; valid: at least 512");
  expect_error([] { check_memory(memory(0x1010, 512), 512, "packed"); },
               "packed is at 0x1010; valid: a multiple of 256 bytes");
}

TEST(DeviceConvolution, InvalidProblemsAreRefusedFirst) {
  Problem problem = parse_problem("Conv1d(3, 4, 3) @ 2x3x9");
  problem.groups = 2;
  expect_error([&] { DeviceConvolution convolution(problem); }, "groups");
}

TEST(DeviceConvolution, WithoutADeviceSaysSo) {
  if (cuda::device_count() > 0) GTEST_SKIP() << "there is a device";
  const Problem problem = parse_problem("Conv1d(3, 4, 3) @ 2x3x9");
  expect_error([&] { DeviceConvolution convolution(problem, 3); }, "device = cuda:3: ", ErrorCode::environment);

  tapconv_problem* handle = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_parse("Conv1d(3, 4, 3) @ 2x3x9", &handle));
  auto* convolution = reinterpret_cast<tapconv_device_convolution*>(&handle);
  EXPECT_EQ(TAPCONV_ENVIRONMENT, tapconv_device_create(handle, 0, TAPCONV_PACKED, TAPCONV_NO_LIMIT, &convolution));
  EXPECT_EQ(nullptr, convolution);
  EXPECT_NE(std::string_view(tapconv_last_error()).find("device = cuda:0: "), std::string_view::npos);
  tapconv_problem_destroy(handle);
}

TEST(DeviceConvolution, CRefusesNullPointersAndUnknownOptions) {
  const auto refused = [](tapconv_status status, std::string_view part) {
    EXPECT_EQ(TAPCONV_USAGE, status);
    EXPECT_NE(std::string_view(tapconv_last_error()).find(part), std::string_view::npos) << tapconv_last_error();
  };
  tapconv_problem* problem = nullptr;
  tapconv_device_convolution* convolution = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_parse("Conv1d(3, 4, 3) @ 2x3x9", &problem));
  refused(tapconv_device_create(nullptr, 0, 0, TAPCONV_NO_LIMIT, &convolution), "problem is null");
  refused(tapconv_device_create(problem, 0, 0, TAPCONV_NO_LIMIT, nullptr), "convolution is null");
  refused(tapconv_device_create(problem, 0, 8, TAPCONV_NO_LIMIT, &convolution), "options = 8; valid: 0 to 7");
  std::size_t bytes = 5;
  const std::int64_t shape[] = {2, 3, 9};
  refused(tapconv_device_workspace(nullptr, shape, 3, &bytes), "convolution is null");
  refused(tapconv_device_packed(nullptr, &bytes), "convolution is null");
  EXPECT_EQ(5u, bytes);
  refused(tapconv_device_prepare(nullptr, nullptr, nullptr, nullptr, 0, nullptr), "convolution is null");
  refused(tapconv_device_run(nullptr, nullptr, nullptr, 0, nullptr), "tensors is null");
  tapconv_device_destroy(nullptr);
  tapconv_problem_destroy(problem);
}

}  // namespace
}  // namespace tapconv
