#include <algorithm>

#include "device_case.hpp"
#include "gpu_test.hpp"

namespace tapconv {
namespace {

using testing::bits_of;
using testing::compute;
using testing::DeviceCase;
using testing::expect_error;
using testing::real_tensors;
using testing::Shape;
using testing::Strided;
using testing::Tensors;
using testing::values_of;
using DeviceView = testing::GpuTest;

/// A way to lay out a tensor of `shape`.
struct Arrangement {
  const char* name;
  std::function<Shape(const Shape&)> strides;
  bool writable = true;
};

Shape contiguous(const Shape& shape) { return strides_of(shape, Layout::contiguous); }

const std::vector<Arrangement>& arrangements() {
  static const std::vector<Arrangement> all{
      {"axes in reverse order",
       [](const Shape& shape) {
         Shape reversed(shape.rbegin(), shape.rend());
         Shape strides = contiguous(reversed);
         std::ranges::reverse(strides);
         return strides;
       }},
      {"every second element",
       [](const Shape& shape) {
         Shape strides = contiguous(shape);
         for (std::int64_t& stride : strides) stride *= 2;
         return strides;
       }},
      {"a part of a larger tensor",
       [](const Shape& shape) {
         Shape larger = shape;
         for (std::int64_t& size : larger) size += 3;
         return contiguous(larger);
       }},
      {"backwards",
       [](const Shape& shape) {
         Shape strides = contiguous(shape);
         for (std::int64_t& stride : strides) stride = -stride;
         return strides;
       }},
      {"one image for all",
       [](const Shape& shape) {
         Shape strides = contiguous(shape);
         strides[0] = 0;
         return strides;
       },
       false},
      {"one element for all", [](const Shape& shape) { return Shape(shape.size(), 0); }, false}};
  return all;
}

/// Lays `dense` out anew, filled with integers, and gives `dense` the values that it then has.
Strided arranged(Strided& dense, const Arrangement& how, std::uint64_t seed) {
  Strided result(dense.dtype, dense.shape, how.strides(dense.shape));
  result.fill(seed);
  for (std::int64_t i = 0; i < element_count(dense.shape); ++i) dense.set(i, result.get(i));
  return result;
}

/// The tensors of a call, each laid out in a way of its own.
void expect_arrangements_right(const Problem& problem, const DeviceOptions& options) {
  SCOPED_TRACE(spell(problem));
  const cuda::Context& context = cuda::Context::get(0);
  const DeviceConvolution convolution(problem, 0, options);
  const std::size_t ways = arrangements().size();
  for (std::size_t i = 0; i < ways; ++i) {
    const auto way = [&](std::size_t which) -> const Arrangement& { return arrangements()[(i + which) % ways]; };
    SCOPED_TRACE(way(0).name);
    Tensors host(problem);  // dense, for the oracle
    const Strided input = arranged(host.input, way(0), 11), weight = arranged(host.weight, way(1), 12);
    const Arrangement& out = way(2).writable ? way(2) : arrangements().front();
    Strided output(problem.out_dtype, host.output.shape, out.strides(host.output.shape));
    std::optional<Strided> residual;
    if (host.residual) residual.emplace(arranged(*host.residual, way(3), 13));

    const DeviceCase device(context, host);
    const testing::OnDevice x(context, input), w(context, weight), y(context, output);
    DeviceViews views = device.views();
    views.input = x.view();
    views.output = y.mutable_view();
    std::optional<testing::OnDevice> r;
    if (residual) views.residual = r.emplace(context, *residual).view();
    const cuda::Buffer packed(context, convolution.packed_bytes());
    const cuda::Buffer workspace(context, convolution.workspace_bytes(host.input.shape));
    const cuda::Stream stream(context);
    if (options.packed) {
      std::optional<TensorView> pointwise = views.pointwise_weight;
      convolution.prepare(w.view(), pointwise, DeviceCase::memory(packed), stream.handle());
      views.weight.reset();
      views.pointwise_weight.reset();
      views.packed = DeviceCase::memory(packed);
    } else {
      views.weight = w.view();
    }
    convolution.run(views, DeviceCase::memory(workspace), stream.handle());
    stream.synchronize();
    std::vector<std::byte> before = output.memory;
    y.download(output);
    ASSERT_EQ(host.expected(), values_of(output));
    // Nothing between the elements was written.
    output.wipe();
    EXPECT_EQ(before, output.memory);
  }
}

class ArrangedViews : public testing::GpuTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ArrangedViews, OfEveryArrangement) {
  const Problem problem = parse_problem(GetParam());
  expect_arrangements_right(problem, {.strided = true});
  expect_arrangements_right(problem, {.strided = true, .packed = true});
}

TEST_P(ArrangedViews, OfEveryArrangementWithDynamicSizesInPasses) {
  Problem problem = parse_problem(GetParam());
  problem.dynamic_batch = true;
  for (int axis = 0; axis < problem.rank; ++axis) problem.dynamic_input[axis] = true;
  expect_arrangements_right(problem, {.workspace_limit = 20000, .strided = true});
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ArrangedViews,
    ::testing::Values("Conv2d(6, 8, 3, padding=1, groups=2, residual=True) @ 3x6x9x10",
                      "Conv3d(8, 8, 2, layout=channels_last, residual=True) @ 2x8x4x5x6",
                      "ConvTranspose2d(4, 6, 2, stride=(3,2), groups=2, residual=True) @ 2x4x5x6",
                      "DepthwiseSeparable2d(6, 5, 3, padding=1, residual=True) @ 5x6x11x12",
                      "Conv1d(6, 6, 3, padding=1, padding_mode='circular', dtype=float16, math=fp16) @ 3x6x11"));

TEST_F(DeviceView, LeastAlignedPointers) {
  // Channels-last kernels read several channels at once where they may.
  for (const char* text : {"Conv3d(8, 8, 2, layout=channels_last, residual=True) @ 2x8x4x5x6",
                           "Conv3d(8, 8, 2, layout=channels_last, dtype=float16, math=fp16) @ 2x8x4x5x6",
                           "Conv2d(6, 8, 3, residual=True) @ 2x6x9x10",
                           "DepthwiseSeparable3d(8, 8, 2, layout=channels_last) @ 2x8x4x5x6"}) {
    SCOPED_TRACE(text);
    Tensors host(parse_problem(text));
    const std::vector<double> expected = host.expected();
    const DeviceConvolution any(host.problem, 0, {.strided = true});
    for (const std::size_t offset : {2, 4, 8, 12, 16}) {
      if (offset % element_bytes(host.problem.dtype) != 0) continue;
      SCOPED_TRACE(offset);
      host.output.wipe();
      compute(any, host, offset);
      EXPECT_EQ(expected, values_of(host.output));
    }
  }
  Tensors host(parse_problem("Conv3d(8, 8, 2, layout=channels_last, math=ieee) @ 2x8x4x5x6"));
  const DeviceConvolution dense(host.problem);
  expect_error([&] { compute(dense, host, 4); }, "valid: a multiple of 16 bytes, or any with the option `strided`");
  compute(dense, host, 16);
  EXPECT_EQ(host.expected(), values_of(host.output));
}

TEST_F(DeviceView, StridesNeedTheOption) {
  Tensors host(parse_problem("Conv1d(3, 4, 3) @ 2x3x20"));
  const DeviceConvolution dense(host.problem);
  const DeviceCase device(cuda::Context::get(0), host);
  DeviceViews views = device.views();
  views.input.strides = {0, 20, 1};
  expect_error([&] { dense.run(views, {}, nullptr); },
               "input has strides (0, 20, 1); valid: (60, 20, 1) as in a dense");
}

TEST_F(DeviceView, PackedWeightsGiveTheSameBits) {
  for (const char* text :
       {"Conv2d(37, 45, 3, padding=1, math=tf32) @ 2x37x13x14", "Conv2d(12, 18, (2,3), groups=3) @ 2x12x9x10",
        "ConvTranspose2d(7, 9, 4, stride=3, dilation=2) @ 2x7x8x9",
        "ConvTranspose1d(8, 12, 5, stride=2, groups=4) @ 2x8x19", "DepthwiseSeparable2d(9, 20, 3) @ 2x9x12x13",
        "Conv1d(5, 33, 300, padding=150) @ 1x5x400", "Conv3d(8, 8, 2, layout=channels_last) @ 2x8x4x5x6",
        "Conv2d(8, 8, 3, dtype=bfloat16, math=bf16, layout=channels_last) @ 2x8x9x9",
        "Conv1d(4, 6, 3, dtype=float64, math=fp64) @ 2x4x30"}) {
    SCOPED_TRACE(text);
    const cuda::Context& context = cuda::Context::get(0);
    Tensors host = real_tensors(parse_problem(text), 21);
    compute(DeviceConvolution(host.problem), host);
    const std::vector<std::uint64_t> expected = bits_of(host.output);
    for (const bool strided : {false, true}) {
      const DeviceConvolution convolution(host.problem, 0, {.strided = strided, .packed = true});
      const DeviceCase device(context, host);
      const cuda::Buffer packed(context, convolution.packed_bytes());
      const cuda::Stream stream(context);
      std::optional<TensorView> pointwise;
      if (device.pointwise_weight) pointwise = device.pointwise_weight->view();
      convolution.prepare(device.weight.view(), pointwise, DeviceCase::memory(packed), stream.handle());
      stream.synchronize();
      host.output.wipe();
      compute(convolution, device.views(packed), device.output, host);
      EXPECT_EQ(expected, bits_of(host.output)) << strided;
    }
  }
}

}  // namespace
}  // namespace tapconv
