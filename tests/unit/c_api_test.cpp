#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/cpu_engine.hpp"
#include "tapconv/problem.hpp"
#include "tapconv/tapconv.h"

namespace {

constexpr const char* box_filter = "Conv2d(1, 1, 3, padding=1, bias=False) @ 1x1x3x4";

struct ProblemDeleter {
  void operator()(tapconv_problem* problem) const { tapconv_problem_destroy(problem); }
};
struct ConvolutionDeleter {
  void operator()(tapconv_convolution* convolution) const { tapconv_destroy(convolution); }
};
using OwnedProblem = std::unique_ptr<tapconv_problem, ProblemDeleter>;
using OwnedConvolution = std::unique_ptr<tapconv_convolution, ConvolutionDeleter>;

OwnedProblem parse(const char* text) {
  tapconv_problem* problem = nullptr;
  EXPECT_EQ(TAPCONV_OK, tapconv_problem_parse(text, &problem)) << tapconv_last_error();
  return OwnedProblem(problem);
}

OwnedProblem parse(const tapconv::Problem& problem) { return parse(tapconv::spell(problem).c_str()); }

OwnedConvolution create(const OwnedProblem& problem) {
  tapconv_convolution* convolution = nullptr;
  EXPECT_EQ(TAPCONV_OK, tapconv_create(problem.get(), "cpu", 1, &convolution)) << tapconv_last_error();
  return OwnedConvolution(convolution);
}

tapconv_tensor describe(const OwnedProblem& problem, tapconv_role role) {
  tapconv_tensor tensor{};
  EXPECT_EQ(TAPCONV_OK, tapconv_problem_tensor(problem.get(), role, &tensor)) << tapconv_last_error();
  return tensor;
}

std::vector<std::int64_t> shape_of(const tapconv_tensor& tensor) { return {tensor.shape, tensor.shape + tensor.ndim}; }
std::vector<std::int64_t> strides_of(const tapconv_tensor& tensor) {
  return {tensor.strides, tensor.strides + tensor.ndim};
}

void expect_failure(tapconv_status expected, tapconv_status actual, const std::string& part) {
  EXPECT_EQ(expected, actual);
  EXPECT_NE(std::string::npos, std::string(tapconv_last_error()).find(part))
      << tapconv_last_error() << "\nexpected: " << part;
}

void expect_usage_error(tapconv_status status, const std::string& part) { expect_failure(TAPCONV_USAGE, status, part); }

/// A 3x3 box filter of a 3x4 image.
struct BoxFilter {
  OwnedProblem problem = parse(box_filter);
  std::array<float, 12> image{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, sums{};
  std::array<float, 9> ones{1, 1, 1, 1, 1, 1, 1, 1, 1};
  tapconv_tensor input = describe(problem, TAPCONV_INPUT), weight = describe(problem, TAPCONV_WEIGHT),
                 output = describe(problem, TAPCONV_OUTPUT);
  std::array<float, 12> expected{14, 24, 30, 22, 33, 54, 63, 45, 30, 48, 54, 38};

  BoxFilter() {
    input.data = image.data();
    weight.data = ones.data();
    output.data = sums.data();
  }
};

TEST(CApi, VersionIsThatOfTheHeader) { EXPECT_STREQ(TAPCONV_VERSION, tapconv_version()); }

TEST(CApi, DescribesAProblem) {
  const OwnedProblem problem = parse("Conv2d(6,4,(2,3),groups=2)@5x6x7x8");
  const char* text = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_spell(problem.get(), &text));
  EXPECT_STREQ("Conv2d(6, 4, (2, 3), groups=2) @ 5x6x7x8", text);
  const auto expect = [&](tapconv_role role, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    const tapconv_tensor tensor = describe(problem, role);
    EXPECT_EQ(shape, shape_of(tensor));
    EXPECT_EQ(strides, strides_of(tensor));
    EXPECT_EQ(TAPCONV_FLOAT32, tensor.dtype);
    EXPECT_EQ(nullptr, tensor.data);
    std::size_t bytes = 0, expected = 4;
    for (const std::int64_t size : shape) expected *= static_cast<std::size_t>(size);
    EXPECT_EQ(TAPCONV_OK, tapconv_tensor_bytes(&tensor, &bytes));
    EXPECT_EQ(expected, bytes);
  };
  expect(TAPCONV_INPUT, {5, 6, 7, 8}, {336, 56, 8, 1});
  expect(TAPCONV_WEIGHT, {4, 3, 2, 3}, {18, 6, 3, 1});
  expect(TAPCONV_BIAS, {4}, {1});
  expect(TAPCONV_OUTPUT, {5, 4, 6, 6}, {144, 36, 6, 1});
  for (const tapconv_role role : {TAPCONV_POINTWISE_WEIGHT, TAPCONV_POINTWISE_BIAS, TAPCONV_RESIDUAL}) {
    const tapconv_tensor tensor = describe(problem, role);
    std::size_t bytes = 1;
    EXPECT_EQ(0, tensor.ndim);
    EXPECT_EQ(nullptr, tensor.shape);
    EXPECT_EQ(nullptr, tensor.strides);
    EXPECT_EQ(TAPCONV_OK, tapconv_tensor_bytes(&tensor, &bytes));
    EXPECT_EQ(0U, bytes);
  }
}

TEST(CApi, DescribesWhateverAProblemHas) {
  tapconv::Problem wide = tapconv::parse_problem("Conv2d(6, 4, 3) @ 5x6x7x8");
  wide.kind = tapconv::Kind::depthwise_separable;
  wide.depth_multiplier = 2;
  wide.layout = tapconv::Layout::channels_last;
  wide.dtype = tapconv::DType::bfloat16;
  wide.contract = tapconv::Contract::bf16;
  wide.residual = true;
  const OwnedProblem problem = parse(wide);
  const tapconv_tensor input = describe(problem, TAPCONV_INPUT), residual = describe(problem, TAPCONV_RESIDUAL);
  EXPECT_EQ(TAPCONV_BFLOAT16, input.dtype);
  EXPECT_EQ((std::vector<std::int64_t>{336, 1, 48, 6}), strides_of(input));
  EXPECT_EQ(TAPCONV_FLOAT32, residual.dtype);
  EXPECT_EQ((std::vector<std::int64_t>{5, 4, 5, 6}), shape_of(residual));
  EXPECT_EQ((std::vector<std::int64_t>{120, 1, 24, 4}), strides_of(residual));
  EXPECT_EQ((std::vector<std::int64_t>{12, 1, 3, 3}), shape_of(describe(problem, TAPCONV_WEIGHT)));
  EXPECT_EQ((std::vector<std::int64_t>{12}), shape_of(describe(problem, TAPCONV_BIAS)));
  EXPECT_EQ((std::vector<std::int64_t>{4, 12, 1, 1}), shape_of(describe(problem, TAPCONV_POINTWISE_WEIGHT)));
  EXPECT_EQ((std::vector<std::int64_t>{4}), shape_of(describe(problem, TAPCONV_POINTWISE_BIAS)));
}

TEST(CApi, ComputesOnTensorsOfAnyStrides) {
  if (!tapconv::cpu_engine_available()) GTEST_SKIP() << "needs oneDNN";
  BoxFilter box;
  const OwnedConvolution convolution = create(parse(box_filter));
  ASSERT_EQ(TAPCONV_OK, tapconv_set_weights(convolution.get(), &box.weight, nullptr, nullptr, nullptr))
      << tapconv_last_error();
  std::uint32_t copied = 99;
  ASSERT_EQ(TAPCONV_OK, tapconv_run(convolution.get(), &box.input, nullptr, &box.output, &copied))
      << tapconv_last_error();
  EXPECT_EQ(0U, copied);
  EXPECT_EQ(box.expected, box.sums);
  const char* implementation = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_implementation(convolution.get(), &implementation));
  EXPECT_NE(std::string(), implementation);

  // Without strides a tensor is contiguous; nobody has to ask what was copied.
  box.sums = {};
  box.input.strides = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_run(convolution.get(), &box.input, nullptr, &box.output, nullptr));
  EXPECT_EQ(box.expected, box.sums);

  // Every second element of a longer array, written backwards.
  std::array<float, 24> spread{};
  const std::array<std::int64_t, 4> backwards{-24, -24, -8, -2};
  box.output.data = &spread[22];
  box.output.strides = backwards.data();
  ASSERT_EQ(TAPCONV_OK, tapconv_run(convolution.get(), &box.input, nullptr, &box.output, &copied));
  EXPECT_EQ(std::uint32_t{1} << TAPCONV_OUTPUT, copied);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(box.expected[i], spread[22 - 2 * i]);
    EXPECT_EQ(0, spread[23 - 2 * i]);
  }
}

TEST(CApi, SizesADynamicProblem) {
  tapconv::Problem dynamic = tapconv::parse_problem("Conv2d(3, 4, 3) @ 1x3x8x9");
  dynamic.dynamic_batch = dynamic.dynamic_input[1] = true;
  const OwnedProblem problem = parse(dynamic);
  const std::array<std::int64_t, 4> shape{7, 3, 8, 20}, other{7, 3, 9, 20};
  tapconv_problem* sized = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_with_input(problem.get(), shape.data(), 4, &sized)) << tapconv_last_error();
  const OwnedProblem owner(sized);
  EXPECT_EQ((std::vector<std::int64_t>{7, 4, 6, 18}), shape_of(describe(owner, TAPCONV_OUTPUT)));
  EXPECT_EQ((std::vector<std::int64_t>{1, 4, 6, 7}), shape_of(describe(problem, TAPCONV_OUTPUT)));
  tapconv_problem* refused = sized;
  expect_usage_error(tapconv_problem_with_input(problem.get(), other.data(), 4, &refused),
                     "input has shape (7, 3, 9, 20); the problem needs (any, 3, 8, any)");
  EXPECT_EQ(nullptr, refused);
}

TEST(CApi, SizesAFixedProblem) {
  const OwnedProblem problem = parse(box_filter);
  const std::array<std::int64_t, 4> same{1, 1, 3, 4}, other{2, 1, 3, 4};
  tapconv_problem* sized = nullptr;
  ASSERT_EQ(TAPCONV_OK, tapconv_problem_with_input(problem.get(), same.data(), 4, &sized));
  tapconv_problem_destroy(sized);
  expect_usage_error(tapconv_problem_with_input(problem.get(), other.data(), 4, &sized), "needs (1, 1, 3, 4)");
  expect_usage_error(tapconv_problem_with_input(problem.get(), same.data(), 3, &sized), "needs (1, 1, 3, 4)");
  expect_usage_error(tapconv_problem_with_input(problem.get(), same.data(), 0, &sized), "input: ndim = 0");
  expect_usage_error(tapconv_problem_with_input(problem.get(), same.data(), 65, &sized), "input: ndim = 65");
  expect_usage_error(tapconv_problem_with_input(problem.get(), nullptr, 4, &sized), "input: shape is null");
}

TEST(CApi, RefusesNullPointers) {
  const OwnedProblem problem = parse(box_filter);
  tapconv_problem* other = nullptr;
  tapconv_convolution* convolution = nullptr;
  tapconv_tensor tensor{};
  const char* text = nullptr;
  std::size_t bytes = 0;
  const std::int64_t size = 1;
  expect_usage_error(tapconv_problem_parse(nullptr, &other), "text is null");
  expect_usage_error(tapconv_problem_parse(box_filter, nullptr), "problem is null");
  expect_usage_error(tapconv_problem_with_input(nullptr, &size, 1, &other), "problem is null");
  expect_usage_error(tapconv_problem_with_input(problem.get(), &size, 1, nullptr), "sized is null");
  expect_usage_error(tapconv_problem_spell(nullptr, &text), "problem is null");
  expect_usage_error(tapconv_problem_spell(problem.get(), nullptr), "text is null");
  expect_usage_error(tapconv_problem_tensor(nullptr, TAPCONV_INPUT, &tensor), "problem is null");
  expect_usage_error(tapconv_problem_tensor(problem.get(), TAPCONV_INPUT, nullptr), "tensor is null");
  expect_usage_error(tapconv_tensor_bytes(nullptr, &bytes), "tensor is null");
  expect_usage_error(tapconv_tensor_bytes(&tensor, nullptr), "bytes is null");
  expect_usage_error(tapconv_create(nullptr, "cpu", 0, &convolution), "problem is null");
  expect_usage_error(tapconv_create(problem.get(), nullptr, 0, &convolution), "device is null");
  expect_usage_error(tapconv_create(problem.get(), "cpu", 0, nullptr), "convolution is null");
  expect_usage_error(tapconv_set_weights(nullptr, &tensor, nullptr, nullptr, nullptr), "convolution is null");
  expect_usage_error(tapconv_run(nullptr, &tensor, nullptr, &tensor, nullptr), "convolution is null");
  expect_usage_error(tapconv_implementation(nullptr, &text), "convolution is null");
  tapconv_problem_destroy(nullptr);
  tapconv_destroy(nullptr);
}

TEST(CApi, RefusesWhatIsNoProblemRoleOrDevice) {
  const OwnedProblem problem = parse(box_filter);
  tapconv_problem* other = problem.get();
  expect_usage_error(tapconv_problem_parse("Conv2d(1, 1, 3, padding=x) @ 1x1x3x4", &other), "^");
  EXPECT_EQ(nullptr, other);
  EXPECT_EQ(TAPCONV_USAGE, tapconv_problem_parse("", &other));
  tapconv_tensor tensor{};
  expect_usage_error(tapconv_problem_tensor(problem.get(), -1, &tensor), "role = -1; valid: 0 to 6");
  expect_usage_error(tapconv_problem_tensor(problem.get(), 7, &tensor), "role = 7; valid: 0 to 6");
  tapconv_convolution* convolution = nullptr;
  expect_usage_error(tapconv_create(problem.get(), "tpu", 0, &convolution), "device = tpu; valid: cpu, cuda, cuda:N");
  EXPECT_EQ(nullptr, convolution);
  expect_usage_error(tapconv_create(problem.get(), "cuda:0", 3, &convolution), "threads = 3; valid on cuda:0: 0");
  if (tapconv::cpu_engine_available()) {
    expect_usage_error(tapconv_create(problem.get(), "cpu", -1, &convolution), "threads = -1");
  } else {
    expect_failure(TAPCONV_ENVIRONMENT, tapconv_create(problem.get(), "cpu", 0, &convolution), "without oneDNN");
  }
}

TEST(CApi, RefusesTensorsThatDoNotFit) {
  if (!tapconv::cpu_engine_available()) GTEST_SKIP() << "needs oneDNN";
  BoxFilter box;
  const OwnedConvolution convolution = create(parse(box_filter));
  const auto run = [&](const tapconv_tensor* x, const tapconv_tensor* r, const tapconv_tensor* y) {
    return tapconv_run(convolution.get(), x, r, y, nullptr);
  };
  expect_usage_error(run(&box.input, nullptr, &box.output), "weight is missing");
  expect_usage_error(tapconv_set_weights(convolution.get(), nullptr, nullptr, nullptr, nullptr), "weight is null");
  expect_usage_error(tapconv_set_weights(convolution.get(), &box.weight, &box.weight, nullptr, nullptr),
                     "bias is given; the problem has bias=False");
  expect_usage_error(tapconv_set_weights(convolution.get(), &box.input, nullptr, nullptr, nullptr),
                     "weight has shape (1, 1, 3, 4); the problem needs (1, 1, 3, 3)");
  ASSERT_EQ(TAPCONV_OK, tapconv_set_weights(convolution.get(), &box.weight, nullptr, nullptr, nullptr));

  expect_usage_error(run(nullptr, nullptr, &box.output), "input is null");
  expect_usage_error(run(&box.input, nullptr, nullptr), "output is null");
  expect_usage_error(run(&box.input, &box.input, &box.output), "residual is given; the problem has residual=False");
  const auto changed = [](tapconv_tensor tensor, auto change) {
    change(tensor);
    return tensor;
  };
  const auto refuse = [&](auto change, const std::string& part) {
    const tapconv_tensor input = changed(box.input, change), output = changed(box.output, change);
    expect_usage_error(run(&input, nullptr, &box.output), "input" + part);
    expect_usage_error(run(&box.input, nullptr, &output), "output" + part);
  };
  refuse([](tapconv_tensor& tensor) { tensor.data = nullptr; }, ": data is null");
  refuse([](tapconv_tensor& tensor) { tensor.shape = nullptr; }, ": shape is null");
  refuse([](tapconv_tensor& tensor) { tensor.ndim = 0; }, ": ndim = 0; valid: 1 to 64");
  refuse([](tapconv_tensor& tensor) { tensor.ndim = -5; }, ": ndim = -5; valid: 1 to 64");
  refuse([](tapconv_tensor& tensor) { tensor.ndim = 65; }, ": ndim = 65; valid: 1 to 64");
  refuse([](tapconv_tensor& tensor) { tensor.ndim = 3; }, " has shape (1, 1, 3); the problem needs (1, 1, 3, 4)");
  refuse([](tapconv_tensor& tensor) { tensor.dtype = 4; }, ": dtype = 4; valid: 0 to 3");
  refuse([](tapconv_tensor& tensor) { tensor.dtype = -1; }, ": dtype = -1; valid: 0 to 3");
  refuse([](tapconv_tensor& tensor) { tensor.dtype = TAPCONV_FLOAT64; }, " is of float64; the problem needs float32");
  static constexpr std::int64_t negative[] = {1, 1, -3, 4};
  refuse([](tapconv_tensor& tensor) { tensor.shape = negative; }, ": shape (1, 1, -3, 4) has a dimension of -3");
  static constexpr std::int64_t zeros[] = {0, 0, 0, 0};
  box.output.strides = zeros;
  expect_usage_error(run(&box.input, nullptr, &box.output), "by which elements share memory");
  expect_usage_error(run(&box.input, nullptr, &box.input), "output lies in the memory of input");
}

TEST(CApi, ComputesWithAResidualAndAPointwiseHalf) {
  if (!tapconv::cpu_engine_available()) GTEST_SKIP() << "needs oneDNN";
  tapconv::Problem problem = tapconv::parse_problem("Conv1d(1, 1, 2) @ 1x1x3");
  problem.kind = tapconv::Kind::depthwise_separable;
  problem.residual = true;
  const OwnedConvolution convolution = create(parse(problem));
  std::array<float, 3> x{1, 2, 4};
  std::array<float, 2> w{1, 10}, r{100, 200}, y{};
  float b = 0.5F, w2 = 2, b2 = 0.25F;
  const std::array<std::int64_t, 4> three{1, 1, 3}, two{1, 1, 2}, one{1, 1, 1};
  const auto tensor = [](float* data, std::int32_t ndim, const std::int64_t* shape) {
    return tapconv_tensor{data, TAPCONV_FLOAT32, ndim, shape, nullptr};
  };
  const tapconv_tensor input = tensor(x.data(), 3, three.data()), weight = tensor(w.data(), 3, two.data()),
                       bias = tensor(&b, 1, one.data()), pointwise_weight = tensor(&w2, 3, one.data()),
                       pointwise_bias = tensor(&b2, 1, one.data()), output = tensor(y.data(), 3, two.data());
  tapconv_tensor residual = tensor(r.data(), 3, two.data());
  ASSERT_EQ(TAPCONV_OK, tapconv_set_weights(convolution.get(), &weight, &bias, &pointwise_weight, &pointwise_bias))
      << tapconv_last_error();
  // Backwards, so that it is copied.
  const std::array<std::int64_t, 3> reversed{2, 2, -1};
  residual.data = &r[1];
  residual.strides = reversed.data();
  std::uint32_t copied = 0;
  ASSERT_EQ(TAPCONV_OK, tapconv_run(convolution.get(), &input, &residual, &output, &copied)) << tapconv_last_error();
  EXPECT_EQ(std::uint32_t{1} << TAPCONV_RESIDUAL, copied);
  EXPECT_EQ((std::array<float, 2>{2 * 21.5F + 0.25F + 200, 2 * 42.5F + 0.25F + 100}), y);
}

TEST(CApi, EveryThreadHasItsOwnError) {
  tapconv_problem* problem = nullptr;
  expect_usage_error(tapconv_problem_parse(nullptr, &problem), "text is null");
  std::string fresh = "?", other;
  std::thread([&] {
    fresh = tapconv_last_error();
    (void)tapconv_tensor_bytes(nullptr, nullptr);
    other = tapconv_last_error();
  }).join();
  EXPECT_EQ("", fresh);
  EXPECT_EQ("bytes is null; valid: a pointer", other);
  EXPECT_STREQ("text is null; valid: a pointer", tapconv_last_error());
  // A success leaves it.
  tapconv_problem_destroy(parse(box_filter).release());
  EXPECT_STREQ("text is null; valid: a pointer", tapconv_last_error());
}

TEST(CApi, ErrorsOfThreadsDoNotMix) {
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&wrong, i] {
      const tapconv_role role = 100 + i;
      const OwnedProblem problem = parse(box_filter);
      const std::string expected = "role = " + std::to_string(role) + "; valid: 0 to 6";
      for (int repeat = 0; repeat < 1000; ++repeat) {
        tapconv_tensor tensor{};
        if (tapconv_problem_tensor(problem.get(), role, &tensor) != TAPCONV_USAGE || tapconv_last_error() != expected)
          ++wrong[static_cast<std::size_t>(i)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((std::array<int, 4>{}), wrong);
}

}  // namespace
