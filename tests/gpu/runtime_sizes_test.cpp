#include <algorithm>
#include <set>

#include "device_case.hpp"
#include "engine/cuda_tensors.hpp"
#include "gpu_test.hpp"
#include "graph.hpp"
#include "oracle/statistics.hpp"
#include "plan/cuda_plan.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

using testing::bits_of;
using testing::compute;
using testing::DeviceCase;
using testing::expect_error;
using testing::real_tensors;
using testing::Tensors;

/// Other sizes of the dynamic dimensions, smaller and larger ones.
std::vector<Problem> sizes_of_all(const Problem& example, int count) {
  const std::int64_t longest = example.rank == 1 ? 150 : example.rank == 2 ? 37 : 11;
  std::vector<Problem> all;
  for (std::int64_t i = 0; all.size() < static_cast<std::size_t>(count) && i < 500; ++i) {
    Problem sized = example;
    if (example.dynamic_batch) sized.batch = 1 + i * 7 % 5;
    for (int axis = 0; axis < example.rank; ++axis) {
      if (example.dynamic_input[axis]) sized.input[axis] = 1 + (i * 13 + axis * 5) % longest;
    }
    try {
      validate(sized);
      all.push_back(sized);
    } catch (const Error&) {  // a size too small for the kernel
    }
  }
  return all;
}

Problem fixed(Problem problem) {
  problem.dynamic_batch = false;
  problem.dynamic_input = {false, false, false};
  return problem;
}

void expect_sizes_equal_fixed_plans(const Problem& problem, int count) {
  SCOPED_TRACE(spell(problem));
  const DeviceConvolution dynamic(problem);
  const std::vector<Problem> sizes = sizes_of_all(problem, count);
  ASSERT_EQ(static_cast<std::size_t>(count), sizes.size());
  for (const Problem& sized : sizes) {
    SCOPED_TRACE(spell(sized));
    Tensors host = real_tensors(sized, 5);
    compute(dynamic, host);
    const std::vector<std::uint64_t> actual = bits_of(host.output);
    host.output.wipe();
    compute(DeviceConvolution(fixed(sized)), host);
    ASSERT_EQ(bits_of(host.output), actual);
  }
}

/// Shards, so that they can compile their kernels in parallel.
class DynamicSizes : public testing::GpuTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(DynamicSizes, EqualThoseOfFixedPlansBitForBit) {
  Problem problem = parse_problem(GetParam());
  problem.dynamic_batch = true;
  for (int axis = 0; axis < problem.rank; ++axis) problem.dynamic_input[axis] = true;
  expect_sizes_equal_fixed_plans(problem, 20);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DynamicSizes,
    ::testing::Values("Conv2d(5, 7, 3, padding=1, residual=True, activation=gelu) @ 2x5x9x10",
                      "Conv3d(8, 8, (1,2,3), padding=(0,1,1), layout=channels_last) @ 1x8x4x5x6",
                      "ConvTranspose2d(4, 6, 2, stride=(3,2), groups=2) @ 2x4x5x6",  // outputs that no tap reaches
                      "DepthwiseSeparable1d(6, 5, 3, padding=2) @ 2x6x20",
                      "Conv1d(6, 6, 3, groups=6, padding=1, padding_mode='reflect') @ 3x6x11",
                      "Conv1d(768, 4096, 1) @ 2x768x100"));  // sums in more parts, the shorter the input

using RuntimeSizes = testing::GpuTest;

TEST_F(RuntimeSizes, OneDimensionAlone) {
  for (int which = 0; which < 3; ++which) {
    Problem problem = parse_problem("Conv2d(5, 7, 3, padding=1) @ 2x5x9x10");
    (which == 2 ? problem.dynamic_batch : problem.dynamic_input[which]) = true;
    expect_sizes_equal_fixed_plans(problem, 4);
  }
}

TEST_F(RuntimeSizes, CompileNothingMore) {
  // The kernels of 20 sizes are those that were loaded with the plan.
  const cuda::Context& context = cuda::Context::get(0);
  Problem problem = parse_problem("ConvTranspose2d(4, 6, 2, stride=(3,2)) @ 2x4x5x6");
  problem.dynamic_batch = problem.dynamic_input[0] = problem.dynamic_input[1] = true;
  const CudaPlan plan(problem, context);
  std::set<void*> loaded;
  for (const CudaVariant& variant : plan.variants().variants) {
    for (const CudaStage& stage : variant.stages) {
      for (const CudaStep& step : stage.steps) loaded.insert(step.kernel->function());
    }
  }
  const std::vector<Problem> sizes = sizes_of_all(problem, 20);
  ASSERT_EQ(20u, sizes.size());
  std::vector<Tensors> hosts;
  for (const Problem& sized : sizes) hosts.push_back(real_tensors(sized, 9));
  std::vector<DeviceCase> devices;
  for (const Tensors& host : hosts) devices.emplace_back(context, host);
  const cuda::Stream stream(context);
  const testing::Graph graph(context, stream, [&] {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      plan.run(sizes[i],
               {.input = devices[i].input.data(),
                .weight = devices[i].weight.data(),
                .bias = devices[i].bias->data(),
                .output = devices[i].output.data()},
               nullptr, nullptr, stream.handle());
  });
  const std::vector<void*> launched = graph.functions();
  EXPECT_EQ(40u, launched.size());  // beside each the kernel of outputs that no tap reaches
  for (void* function : launched) EXPECT_TRUE(loaded.contains(function));
  graph.launch(stream);
  stream.synchronize();
  const DeviceConvolution eager(problem);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    devices[i].output.download(hosts[i].output);
    const std::vector<std::uint64_t> actual = bits_of(hosts[i].output);
    hosts[i].output.wipe();
    compute(eager, hosts[i]);
    EXPECT_EQ(bits_of(hosts[i].output), actual) << spell(sizes[i]);
  }
}

TEST_F(RuntimeSizes, BeyondThirtyTwoBitsAreRight) {
  // 1.15e9 positions of a plan whose example has a thousand.
  const cuda::Context& context = cuda::Context::get(0);
  Problem problem = parse_problem("Conv1d(1, 1, 3, padding=1, bias=False, dtype=float16, math=fp16) @ 1x1x1048576");
  problem.dynamic_batch = true;
  const CudaPlan plan(problem, context);
  Problem sized = problem;
  sized.batch = 1100;
  CudaTensors tensors(sized, context);
  tensors.fill(uniform_recipes(sized, 1));
  tensors.fill_output(0xff);
  plan.run(sized, tensors.pointers(), nullptr, nullptr, tensors.stream().handle());
  const auto outputs = sample_outputs(sized, 100000, 1);
  EXPECT_GT(outputs.back(), std::int64_t{1} << 30);
  const Outputs actual = tensors.gather(outputs);
  EXPECT_EQ(0, std::count(actual.unwritten.begin(), actual.unwritten.end(), true));
  ErrorStatistics statistics(sized);
  statistics.add(outputs, actual.values, tensors.evaluate(outputs, OperandRounding::exact));
  EXPECT_EQ(0, statistics.violations());
}

using WorkspaceLimit = testing::GpuTest;

TEST_F(WorkspaceLimit, PassesEqualOneBitForBit) {
  for (const char* text : {"DepthwiseSeparable2d(6, 10, 3, padding=1, residual=True, activation=relu) @ 7x6x17x19",
                           "DepthwiseSeparable1d(8, 8, 5, dtype=float64, math=fp64) @ 7x8x40",
                           "DepthwiseSeparable2d(8, 12, 3, depth_multiplier=2, layout=channels_last) @ 7x8x9x9",
                           "DepthwiseSeparable2d(8, 12, 3, math=ieee) @ 7x8x9x9"}) {
    const Problem problem = parse_problem(text);
    SCOPED_TRACE(text);
    Tensors host = real_tensors(problem, 3);
    const DeviceConvolution unlimited(problem);
    compute(unlimited, host);
    const std::vector<std::uint64_t> expected = bits_of(host.output);
    const std::size_t image =
        (unlimited.workspace_bytes(host.input.shape) - CudaPlan(problem, context()).variants().packed_bytes) / 7;
    // Kernels of dense tensors and of any others can have weights of their own.
    const std::size_t packed = CudaPlan(problem, context(), {.strided = true}).variants().packed_bytes;
    for (const std::size_t whole : {1, 2, 3, 4, 6, 7, 8}) {
      const DeviceConvolution limited(problem, 0, {.workspace_limit = packed + whole * image + 1, .strided = true});
      EXPECT_LE(limited.workspace_bytes(host.input.shape), packed + whole * image);
      host.output.wipe();
      compute(limited, host);
      EXPECT_EQ(expected, bits_of(host.output)) << whole;
    }
    expect_error([&] { DeviceConvolution none(problem, 0, {.workspace_limit = image - 1}); },
                 fmt::format("workspace_limit = {}; valid: at least {}", image - 1, image));
  }
}

TEST_F(WorkspaceLimit, HoldsForEverySize) {
  Problem problem = parse_problem("DepthwiseSeparable1d(4, 4, 3, padding=1) @ 2x4x100");
  problem.dynamic_batch = problem.dynamic_input[0] = true;
  const std::size_t limit = 4 * 4 * 300;  // three images of the example
  const DeviceConvolution limited(problem, 0, {.workspace_limit = limit});
  for (const auto& [batch, width] : {std::pair{1, 300}, {9, 100}, {17, 70}, {5, 299}}) {
    Problem sized = problem;
    sized.batch = batch;
    sized.input[0] = width;
    Tensors host = real_tensors(sized, 3);
    EXPECT_LE(limited.workspace_bytes(host.input.shape), limit);
    compute(limited, host);
    const std::vector<std::uint64_t> actual = bits_of(host.output);
    compute(DeviceConvolution(fixed(sized)), host);
    EXPECT_EQ(bits_of(host.output), actual) << spell(sized);
  }
  expect_error(
      [&] {
        (void)limited.workspace_bytes(std::vector<std::int64_t>{1, 4, 301});
      },
      "workspace_limit = 4800; valid: at least 4816");
}

}  // namespace
}  // namespace tapconv
