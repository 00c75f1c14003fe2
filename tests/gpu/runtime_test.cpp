#include <algorithm>
#include <chrono>
#include <thread>

#include "device_case.hpp"
#include "gpu_test.hpp"
#include "graph.hpp"
#include "plan/cuda_plan.hpp"
#include "problem/text.hpp"
#include "tapconv/tapconv.h"

namespace tapconv {
namespace {

using testing::compute;
using testing::DeviceCase;
using testing::expect_error;
using testing::Graph;
using testing::OnDevice;
using testing::Tensors;
using testing::values_of;
using Runtime = testing::GpuTest;

const cuda::DriverApi& api() { return cuda::DriverApi::get(); }

void check(int result) { api().check(result, "in a test", ErrorCode::launch); }

void* current_context() {
  void* context = nullptr;
  check(api().CtxGetCurrent(&context));
  return context;
}

/// Two stages, a residual, a workspace.
Problem separable() {
  return parse_problem("DepthwiseSeparable2d(6, 10, 3, padding=1, residual=True, activation=relu) @ 3x6x17x19");
}

TEST_F(Runtime, StreamsOfEverySort) {
  const cuda::Context& context = cuda::Context::get(0);
  Tensors host(separable());
  const std::vector<double> expected = host.expected();
  const DeviceConvolution convolution(host.problem);
  DeviceCase device(context, host);
  const cuda::Buffer workspace(context, convolution.workspace_bytes(host.input.shape));
  const cuda::Stream non_blocking(context);
  void* const per_thread = reinterpret_cast<void*>(2);  // CU_STREAM_PER_THREAD
  for (void* stream : {static_cast<void*>(nullptr), per_thread, non_blocking.handle()}) {
    SCOPED_TRACE(stream);
    host.output.wipe();
    device.output.upload(host.output);
    convolution.run(device.views(), DeviceCase::memory(workspace), stream);
    {
      const cuda::CurrentContext current(context);
      check(api().StreamSynchronize(stream));
    }
    device.output.download(host.output);
    EXPECT_EQ(expected, values_of(host.output));
  }
}

TEST_F(Runtime, GraphsReplayWithChangedInputs) {
  const cuda::Context& context = cuda::Context::get(0);
  Tensors host(separable(), 1);
  const DeviceConvolution convolution(host.problem, 0, {.workspace_limit = 2 * 6 * 17 * 19 * 4, .packed = true});
  DeviceCase device(context, host);
  const cuda::Buffer workspace(context, convolution.workspace_bytes(host.input.shape));
  const cuda::Buffer packed(context, convolution.packed_bytes());
  const cuda::Stream stream(context);
  const Graph graph(context, stream, [&] {
    convolution.prepare(device.weight.view(), device.pointwise_weight->view(), DeviceCase::memory(packed),
                        stream.handle());
    convolution.run(device.views(packed), DeviceCase::memory(workspace), stream.handle());
  });
  EXPECT_EQ(2u + 2 * 2, graph.functions().size());  // two packings; two passes of two stages
  for (const std::uint64_t seed : {1, 20, 30}) {
    host.input.fill(seed);
    host.weight.fill(seed + 7);
    host.output.wipe();
    device.input.upload(host.input);
    device.weight.upload(host.weight);
    device.output.upload(host.output);
    graph.launch(stream);
    stream.synchronize();
    device.output.download(host.output);
    EXPECT_EQ(host.expected(), values_of(host.output)) << seed;
  }
}

TEST_F(Runtime, OnePlanServesTwoThreadsOnTwoStreams) {
  const cuda::Context& context = cuda::Context::get(0);
  Problem problem = separable();
  problem.dynamic_batch = true;
  const DeviceConvolution convolution(problem);
  const auto serve = [&](std::uint64_t seed) {
    Problem sized = problem;
    sized.batch = static_cast<std::int64_t>(seed);
    Tensors host(sized, seed);
    const std::vector<double> expected = host.expected();
    const cuda::Stream stream(context);
    DeviceCase device(context, host);
    const cuda::Buffer workspace(context, convolution.workspace_bytes(host.input.shape));
    for (int i = 0; i < 30; ++i) {
      host.output.wipe();
      device.output.upload(host.output);
      for (int j = 0; j < 5; ++j) convolution.run(device.views(), DeviceCase::memory(workspace), stream.handle());
      stream.synchronize();
      device.output.download(host.output);
      ASSERT_EQ(expected, values_of(host.output)) << seed;
    }
  };
  std::thread other(serve, 5);
  serve(3);
  other.join();
}

TEST_F(Runtime, PlansAreMadeInTwoThreadsAtATime) {
  const auto plan = [](const char* text) {
    Tensors host(parse_problem(text));
    const DeviceConvolution convolution(host.problem);
    compute(convolution, host);
    EXPECT_EQ(host.expected(), values_of(host.output)) << text;
  };
  // The first of each at the same time, and one that both want.
  std::thread other([&] {
    plan("Conv2d(3, 5, (2, 3), stride=(3, 1)) @ 2x3x31x13");
    plan("Conv1d(7, 3, 5, dilation=3) @ 1x7x77");
  });
  plan("ConvTranspose2d(3, 5, (2, 3), stride=(3, 1)) @ 2x3x11x13");
  plan("Conv1d(7, 3, 5, dilation=3) @ 1x7x77");
  other.join();
}

/// Everything that could change the current context, with success and with failures.
void use_everything() {
  Tensors host(separable());
  const DeviceConvolution convolution(host.problem, 0, {.packed = true, .check_pointers = true});
  const cuda::Context& context = cuda::Context::get(0);
  DeviceCase device(context, host);
  const cuda::Buffer packed(context, convolution.packed_bytes());
  const cuda::Buffer workspace(context, convolution.workspace_bytes(host.input.shape));
  const cuda::Stream stream(context);
  convolution.prepare(device.weight.view(), device.pointwise_weight->view(), DeviceCase::memory(packed),
                      stream.handle());
  convolution.run(device.views(packed), DeviceCase::memory(workspace), stream.handle());
  stream.synchronize();
  device.output.download(host.output);
  EXPECT_EQ(host.expected(), values_of(host.output));
  expect_error([&] { convolution.run(device.views(packed), {}, stream.handle()); }, "workspace has 0 bytes");
  expect_error([&] { const cuda::Buffer huge(context, std::size_t{1} << 50); }, "bytes of device memory are needed",
               ErrorCode::memory);
  EXPECT_GT(context.free_bytes(), 0u);
}

TEST_F(Runtime, LeavesTheCurrentContextAsItIs) {
  std::thread([] {
    ASSERT_EQ(nullptr, current_context());
    use_everything();
    EXPECT_EQ(nullptr, current_context());
  }).join();

  const cuda::DynamicLibrary library({"libcuda.so.1"});
  int (*create)(void**, unsigned, int);
  int (*destroy)(void*);
  library.load(create, "cuCtxCreate_v2");
  library.load(destroy, "cuCtxDestroy_v2");
  void* own = nullptr;
  check(create(&own, 0, cuda::device_count() > 1 ? 1 : 0));  // makes it current
  EXPECT_EQ(own, current_context());
  use_everything();
  EXPECT_EQ(own, current_context());
  check(destroy(own));
}

TEST_F(Runtime, SeveralDevices) {
  if (cuda::device_count() < 2) GTEST_SKIP() << "there is one GPU";
  Tensors first(separable(), 1), second(separable(), 2);
  const DeviceConvolution one(first.problem, 0, {.check_pointers = true}),
      two(second.problem, 1, {.check_pointers = true});
  std::thread other([&] {
    for (int i = 0; i < 10; ++i) compute(two, second);
  });
  for (int i = 0; i < 10; ++i) compute(one, first);
  other.join();
  EXPECT_EQ(first.expected(), values_of(first.output));
  EXPECT_EQ(second.expected(), values_of(second.output));

  const DeviceCase elsewhere(cuda::Context::get(1), first);
  const cuda::Buffer workspace(cuda::Context::get(0), one.workspace_bytes(first.input.shape));
  expect_error([&] { one.run(elsewhere.views(), DeviceCase::memory(workspace), nullptr); },
               "input is in memory of cuda:1; valid: of cuda:0");
}

TEST_F(Runtime, PointersOfTheHostAreFoundWhereAsked) {
  const Problem problem = parse_problem("Conv1d(3, 4, 3, bias=False) @ 2x3x50");
  Tensors host(problem);
  const DeviceConvolution convolution(problem, 0, {.check_pointers = true});
  const DeviceCase device(cuda::Context::get(0), host);
  DeviceViews views = device.views();
  EXPECT_NO_THROW(convolution.run(views, {}, nullptr));
  views.weight->data = host.weight.data;
  expect_error([&] { convolution.run(views, {}, nullptr); }, "weight is at 0x");
}

TEST_F(Runtime, WorkspaceAndPackedWeightsMustBeThere) {
  const cuda::Context& context = cuda::Context::get(0);
  const Tensors host(separable());
  const DeviceConvolution plain(host.problem), packing(host.problem, 0, {.packed = true});
  const DeviceCase device(context, host);
  const std::size_t needed = plain.workspace_bytes(host.input.shape);
  const CudaPlan plan(host.problem, context);
  EXPECT_EQ(std::size_t{3 * 6 * 17 * 19 * 4} + plan.variants().packed_bytes, needed);
  const cuda::Buffer workspace(context, needed + 256);
  const auto memory = DeviceCase::memory(workspace);
  expect_error([&] { plain.run(device.views(), {}, nullptr); }, "workspace has 0 bytes");
  expect_error([&] { plain.run(device.views(), memory.first(needed - 1), nullptr); },
               fmt::format("valid: at least {}", needed));
  expect_error([&] { plain.run(device.views(), memory.subspan(4), nullptr); }, "valid: a multiple of 256 bytes");
  EXPECT_NO_THROW(plain.run(device.views(), memory.first(needed), nullptr));

  EXPECT_EQ(0u, plain.packed_bytes());
  DeviceViews views = device.views();
  views.weight.reset();
  views.pointwise_weight.reset();
  expect_error([&] { packing.run(views, memory, nullptr); }, "packed has 0 bytes");
  expect_error([&] { packing.prepare(device.weight.view(), device.pointwise_weight->view(), {}, nullptr); },
               "packed has 0 bytes");
  const cuda::CurrentContext current(context);
  check(api().StreamSynchronize(nullptr));
}

TEST_F(Runtime, ALaunchThatIsNotLegalNamesTheKernel) {
  const CudaPlan plan(parse_problem("Conv1d(3, 4, 3, bias=False) @ 2x3x50"), cuda::Context::get(0));
  const cuda::Kernel& kernel = *plan.stages().front().steps.front().kernel;
  expect_error(
      [&] {
        kernel.launch({.grid = {1, 1, 0}, .block = {32, 1, 1}}, nullptr, shared::Arguments{});
      },
      "tapconv_direct cannot be launched: grid.z = 0; valid on ", ErrorCode::launch);
}

TEST_F(Runtime, ConvolutionsOfHostTensorsUseOnePlanForEverySize) {
  Problem problem = parse_problem("DepthwiseSeparable2d(6, 10, 3, padding=1, residual=True) @ 1x6x8x9");
  problem.dynamic_batch = problem.dynamic_input[0] = problem.dynamic_input[1] = true;
  Convolution convolution(problem, {.kind = Device::Kind::cuda, .index = 0});
  const Tensors weights(problem, 3);
  convolution.set_weights(weights.weights());
  for (const auto& [batch, height, width] : {std::array{1, 8, 9}, {4, 20, 31}, {2, 1, 1}, {3, 5, 64}, {1, 8, 9}}) {
    Problem sized = problem;
    sized.batch = batch;
    sized.input = {height, width, 1};
    Tensors tensors(sized, 3);  // one seed fills the same weights and biases at every size
    convolution.run(tensors.input.view(), tensors.output.mutable_view(), tensors.residual->view());
    EXPECT_EQ(tensors.expected(), values_of(tensors.output));
  }
}

TEST_F(Runtime, CComputesTheSame) {
  tapconv_problem* problem = nullptr;
  tapconv_device_convolution* convolution = nullptr;
  const char* text = "Conv2d(3, 5, 3, padding=1) @ 2x3x9x9";
  Tensors host(parse_problem(text));
  const cuda::Context& context = cuda::Context::get(0);
  DeviceCase device(context, host);
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_parse(text, &problem)) << tapconv_last_error();
  ASSERT_EQ(TAPCONV_OK, tapconv_device_create(problem, 0, TAPCONV_PACKED, TAPCONV_NO_LIMIT, &convolution))
      << tapconv_last_error();
  std::size_t workspace_bytes = 1, packed_bytes = 0;
  EXPECT_EQ(TAPCONV_OK, tapconv_device_workspace(convolution, host.input.shape.data(), 4, &workspace_bytes));
  EXPECT_EQ(0u, workspace_bytes);
  EXPECT_EQ(TAPCONV_OK, tapconv_device_packed(convolution, &packed_bytes));
  const cuda::Buffer packed(context, packed_bytes);
  const auto tensor = [&](tapconv_role role, const OnDevice& place) {
    tapconv_tensor described{};
    EXPECT_EQ(TAPCONV_OK, tapconv_problem_tensor(problem, role, &described));
    described.data = place.data();
    return described;
  };
  const tapconv_tensor input = tensor(TAPCONV_INPUT, device.input), weight = tensor(TAPCONV_WEIGHT, device.weight),
                       bias = tensor(TAPCONV_BIAS, *device.bias), output = tensor(TAPCONV_OUTPUT, device.output);
  EXPECT_EQ(TAPCONV_OK, tapconv_device_prepare(convolution, &weight, nullptr, packed.as(), packed_bytes, nullptr))
      << tapconv_last_error();
  const tapconv_device_tensors tensors{.input = &input,
                                       .weight = nullptr,
                                       .bias = &bias,
                                       .pointwise_weight = nullptr,
                                       .pointwise_bias = nullptr,
                                       .residual = nullptr,
                                       .output = &output,
                                       .packed = packed.as(),
                                       .packed_bytes = packed_bytes};
  EXPECT_EQ(TAPCONV_OK, tapconv_device_run(convolution, &tensors, nullptr, 0, nullptr)) << tapconv_last_error();
  {
    const cuda::CurrentContext current(context);
    check(api().StreamSynchronize(nullptr));
  }
  device.output.download(host.output);
  EXPECT_EQ(host.expected(), values_of(host.output));
  tapconv_device_destroy(convolution);
  tapconv_problem_destroy(problem);
}

/// Microseconds a call of the host's time, the least of many rounds: short ones, for other processes share the cores.
template <class Body>
double call_us(const cuda::Stream& stream, const Body& body) {
  constexpr int calls = 50;
  double least = 1e9;
  for (int round = 0; round < 100; ++round) {
    stream.synchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) body();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count() / calls);
  }
  stream.synchronize();
  return least;
}

TEST_F(Runtime, RunAddsLittleToABareLaunch) {
  const cuda::Context& context = cuda::Context::get(0);
  const Problem problem = parse_problem("Conv2d(3, 4, 3, padding=1, residual=True) @ 1x3x8x8");
  const Tensors host(problem);
  const DeviceCase device(context, host);
  const DeviceViews views = device.views();
  const cuda::Stream stream(context);
  const CudaPlan plan(problem, context);
  const DeviceTensors tensors{.input = views.input.data,
                              .weight = views.weight->data,
                              .bias = views.bias->data,
                              .residual = views.residual->data,
                              .output = views.output.data};
  const CudaStep& step = plan.stages().front().steps.front();
  shared::Arguments arguments{.tensors = {.input = tensors.input,
                                          .weight = tensors.weight,
                                          .bias = tensors.bias,
                                          .residual = tensors.residual,
                                          .output = tensors.output},
                              .sizes = sizes_of(problem, false)};
  const cuda::LaunchShape shape = step.plan.launch(arguments.sizes);
  void* parameters[] = {&arguments};
  const cuda::CurrentContext current(context);
  const double bare = call_us(stream, [&] {
    check(api().LaunchKernel(step.kernel->function(), static_cast<unsigned>(shape.grid[0]),
                             static_cast<unsigned>(shape.grid[1]), static_cast<unsigned>(shape.grid[2]),
                             static_cast<unsigned>(shape.block[0]), static_cast<unsigned>(shape.block[1]),
                             static_cast<unsigned>(shape.block[2]), 0, stream.handle(), parameters, nullptr));
  });
  Problem dynamic = problem;
  dynamic.dynamic_batch = dynamic.dynamic_input[0] = dynamic.dynamic_input[1] = true;
  dynamic.batch = 5;  // another size than that of the call
  const DeviceConvolution fixed(problem), sized(dynamic), strided(problem, 0, {.strided = true});
  DeviceViews turned = views;  // strides that are not the dense ones
  turned.input.strides[2] = 1;
  turned.input.strides[3] = 8;
  const std::pair<const char*, double> times[] = {
      {"plan_overhead_us", call_us(stream, [&] { plan.run(tensors, nullptr, stream.handle()); })},
      {"overhead_us", call_us(stream, [&] { fixed.run(views, {}, stream.handle()); })},
      {"dynamic_overhead_us", call_us(stream, [&] { sized.run(views, {}, stream.handle()); })},
      {"strided_overhead_us", call_us(stream, [&] { strided.run(turned, {}, stream.handle()); })}};
  RecordProperty("bare_us", std::to_string(bare));
  for (const auto& [name, time] : times) {
    RecordProperty(name, std::to_string(time - bare));
    EXPECT_LT(time - bare, 5) << name << ", beside a bare launch of " << bare << " us";
  }
}

}  // namespace
}  // namespace tapconv
