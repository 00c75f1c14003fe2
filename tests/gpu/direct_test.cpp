#include <bit>
#include <cmath>
#include <limits>

#include "../unit/expect_contract.hpp"
#include "../unit/random_problem.hpp"
#include "gpu_test.hpp"
#include "plan/cuda_plan.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::expect_within_contract;
using testing::HostOperands;
using Direct = testing::GpuTest;

constexpr double small = 2e6;  // FLOP, so that the host's oracle is quick

TEST_F(Direct, GpuOracleEqualsCpuOracle) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const Problem problem = testing::random_problem(seed, small);
    SCOPED_TRACE(spell(problem));
    const auto session = open(problem);
    const Recipes recipes = seed % 2 ? uniform_recipes(problem, seed) : sparse_recipes(problem, seed);
    session->fill(recipes);
    const HostOperands host(problem, recipes);
    const auto outputs = all_outputs(problem);
    for (const OperandRounding rounding : all_operand_roundings) {
      const auto device = session->evaluate(outputs, rounding);
      const auto expected = oracle(problem, host.spans(), outputs, rounding);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        ASSERT_NEAR(expected[i].value, device[i].value, 1e-14 * expected[i].magnitude);
        ASSERT_NEAR(expected[i].magnitude, device[i].magnitude, 1e-14 * expected[i].magnitude);
        ASSERT_EQ(expected[i].products, device[i].products);
        ASSERT_EQ(expected[i].sequential, device[i].sequential);
      }
    }
  }
}

TEST_F(Direct, ExactIntegersAreExact) {
  for (unsigned seed = 100; seed < 160; ++seed) {
    Problem problem = testing::random_problem(seed, small);
    SCOPED_TRACE(spell(problem));
    const auto session = open(problem);
    std::uint32_t state = seed;
    const auto integers = [&](std::int64_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<int>(state >> 24) % 17 - 8);
      }
      return values;
    };
    const auto x = integers(element_count(input_shape(problem))), w = integers(element_count(weight_shape(problem)));
    const auto b = integers(problem.bias ? problem.out_channels : 0);
    session->upload(operands(x, w, b));
    execute(*session, session->engine());
    const auto outputs = all_outputs(problem);
    const auto expected = oracle(problem, operands(x, w, b), outputs, OperandRounding::exact);
    const std::vector<double> actual = session->download().values();
    for (std::size_t i = 0; i < outputs.size(); ++i) ASSERT_EQ(expected[i].value, actual[i]) << i;
  }
}

/// Shards, so that they can compile their kernels in parallel.
class DirectFuzz : public testing::GpuTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(DirectFuzz, RandomProblemsKeepTheirContracts) {
  for (unsigned i = 0; i < 20; ++i) {
    const unsigned seed = 1000 + 20 * GetParam() + i;
    const Problem problem = testing::random_problem(seed, 2e8);
    const auto session = open(problem);
    testing::expect_within_contract_on_all(*session, seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, DirectFuzz, ::testing::Range(0u, 10u));

TEST_F(Direct, EdgesOfItsTiles) {
  // Around every tile size: channels a block, positions a block, pairs of weights held in shared memory.
  for (const char* text : {"Conv1d(3, 15, 3) @ 1x3x130", "Conv1d(3, 16, 3) @ 1x3x129", "Conv1d(3, 17, 3) @ 1x3x131",
                           "Conv1d(85, 33, 3, padding=1) @ 4x85x513", "Conv1d(1, 1, 255, padding=127) @ 2x1x1000",
                           "Conv1d(2, 2, 256, padding=127) @ 2x2x1000", "Conv1d(2, 5, 257, padding=128) @ 2x2x1000",
                           "Conv2d(3, 20, 31, padding=15) @ 1x3x64x64", "Conv2d(300, 40, 1) @ 1x300x7x7",
                           "Conv2d(512, 512, 3, padding=1) @ 1x512x7x7",
                           "Conv3d(3, 7, (3,5,7), padding=(1,2,3), stride=(2,1,3)) @ 2x3x9x11x20",
                           "Conv2d(64, 192, 3, groups=64) @ 3x64x20x20", "Conv1d(1, 1, 1, stride=7) @ 1x1x1",
                           "Conv2d(128, 4, 3, dilation=9, padding=9) @ 2x128x19x23"}) {
    for (const char* math : {"ieee", "tf32"}) {
      Problem problem = parse_problem(text);
      problem.contract = math == std::string("ieee") ? Contract::ieee : Contract::tf32;
      const auto session = open(problem);
      session->fill(uniform_recipes(problem, 3));
      expect_within_contract(*session, "uniform");
    }
  }
}

TEST_F(Direct, SubnormalsAreKept) {
  const Problem problem = parse_problem("Conv1d(4, 4, 3, padding=1, bias=False, math=ieee) @ 1x4x100");
  const auto session = open(problem);
  Recipes recipes = uniform_recipes(problem, 1);
  recipes.input = {.seed = 1, .values = shared::Values::signed_, .scale = 0x1p-130f, .keep = 1};
  session->fill(recipes);
  expect_within_contract(*session, "subnormal");
  const auto outputs = all_outputs(problem);
  const std::vector<double> actual = session->gather(outputs).values;
  EXPECT_GT(std::count_if(actual.begin(), actual.end(),
                          [](double y) { return y != 0 && std::abs(y) < std::numeric_limits<float>::min(); }),
            300);
}

TEST_F(Direct, NonFiniteValuesSpreadAsTheOracleSays) {
  for (const char* text : {"Conv2d(3, 5, 3, padding=2) @ 2x3x9x9", "Conv2d(3, 5, 3, padding=2, math=tf32) @ 2x3x9x9"}) {
    const Problem problem = parse_problem(text);
    SCOPED_TRACE(text);
    const auto session = open(problem);
    HostOperands host(problem, uniform_recipes(problem, 1));
    // NaNs whose low bits alone are set, or that a carry would turn into zero, and infinities on both sides.
    host.input[10] = std::bit_cast<float>(0x7f800001u);
    host.input[100] = std::bit_cast<float>(0x7fffffffu);
    host.input[200] = std::bit_cast<float>(0xffffffffu);
    host.input[300] = std::numeric_limits<float>::infinity();
    host.weight[0] = -std::numeric_limits<float>::infinity();
    session->upload(host.spans());
    expect_within_contract(*session, "non-finite");
  }
}

TEST_F(Direct, SameBitsEveryTimeAndForEveryBatch) {
  Problem problem = parse_problem("Conv2d(37, 45, 3, padding=1) @ 5x37x33x29");
  const HostOperands host(problem, uniform_recipes(problem, 1));
  const auto result = [&](const Problem& p, std::span<const float> input) {
    const auto session = open(p);
    session->upload(operands(input, host.weight, host.bias));
    execute(*session, session->engine());
    const std::vector<double> first = session->download().values();
    execute(*session, session->engine());
    EXPECT_EQ(first, session->download().values());
    return first;
  };
  const auto whole = result(problem, host.input);
  problem.batch = 1;
  const std::size_t image = host.input.size() / 5, output = whole.size() / 5;
  for (std::size_t n = 0; n < 5; ++n) {
    const auto alone = result(problem, std::span(host.input).subspan(n * image, image));
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + static_cast<std::ptrdiff_t>(n * output))) << n;
  }
}

TEST_F(Direct, WritesNothingOutsideTheOutput) {
  // One allocation around the output, so that a stray write lands in a guard zone.
  const Problem problem = parse_problem("Conv2d(5, 19, 3, stride=2, padding=1) @ 3x5x21x23");
  const HostOperands host(problem, uniform_recipes(problem, 1));
  const cuda::Context& context = cuda::Context::get(0);
  const auto upload = [&](const std::vector<float>& values) {
    cuda::Buffer buffer(context, values.size() * sizeof(float));
    buffer.upload(std::as_bytes(std::span(values)));
    return buffer;
  };
  const cuda::Buffer input = upload(host.input), weight = upload(host.weight), bias = upload(host.bias);
  constexpr std::size_t guard = 4096;
  const auto count = static_cast<std::size_t>(element_count(output_shape(problem)));
  const cuda::Buffer zone(context, (count + 2 * guard) * sizeof(float));
  const cuda::Stream stream(context);
  stream.fill_bytes(zone.as(), 0xa5, zone.bytes());
  const CudaPlan plan(problem, context);
  plan.run({.input = input.as<float>(),
            .weight = weight.as<float>(),
            .bias = bias.as<float>(),
            .output = zone.as<float>() + guard},
           nullptr, stream.handle());
  stream.synchronize();
  std::vector<std::uint32_t> words(count + 2 * guard);
  zone.download(std::as_writable_bytes(std::span(words)));
  EXPECT_EQ(static_cast<std::ptrdiff_t>(2 * guard), std::count(words.begin(), words.end(), 0xa5a5a5a5u));
}

TEST_F(Direct, MoreThanTwoToTheThirtyOneElements) {
  // Output offsets beyond 2^31 elements and 2^33 bytes.
  const Problem problem = parse_problem("Conv1d(1, 40, 3, padding=1) @ 1x1x60000000");
  const auto session = open(problem);
  session->fill(uniform_recipes(problem, 1));
  execute(*session, session->engine());
  const auto outputs = sample_outputs(problem, 100000, 1);
  EXPECT_GT(outputs.back(), std::int64_t{1} << 31);
  ErrorStatistics statistics(problem);
  statistics.add(outputs, session->gather(outputs).values, session->evaluate(outputs, OperandRounding::exact));
  EXPECT_EQ(0, statistics.violations());
}

TEST_F(Direct, MoreBlocksThanOneRowOfTheGrid) {
  const Problem problem =
      parse_problem("Conv1d(2147483649, 2147483649, 1, groups=2147483649, bias=False) @ 1x2147483649x1");
  const auto session = open(problem);
  session->fill(uniform_recipes(problem, 1));
  execute(*session, session->engine());
  const auto outputs = sample_outputs(problem, 100000, 1);
  const auto actual = session->gather(outputs);
  EXPECT_EQ(0, std::count(actual.unwritten.begin(), actual.unwritten.end(), true));
  ErrorStatistics statistics(problem);
  statistics.add(outputs, actual.values, session->evaluate(outputs, OperandRounding::exact));
  EXPECT_EQ(0, statistics.violations());
}

TEST_F(Direct, MemoryThatIsNotThereIsAnError) {
  try {
    (void)open(parse_problem("Conv1d(1, 1, 1) @ 1000000x1x1000000"));
    FAIL() << "4 TB were allocated";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::memory, error.code());
    EXPECT_NE(std::string(error.what()).find("4000000000000 bytes of device memory are needed"), std::string::npos)
        << error.what();
  }
}

TEST_F(Direct, DeviceThatIsNotThereIsAnError) {
  EXPECT_THROW((void)Session::open(parse_problem("kb56"), {.kind = Device::Kind::cuda, .index = 99}), Error);
}

}  // namespace
}  // namespace tapconv
