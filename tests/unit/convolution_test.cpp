#include "tapconv/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "random_problem.hpp"
#include "strided.hpp"

namespace tapconv::testing {
namespace {

constexpr Convolution::Accesses all_used{};

/// Ways to lay out a tensor of `shape`: strides, and the offset of its first element in bytes.
struct Arrangement {
  const char* name;
  std::function<Shape(const Shape&)> strides;
  std::size_t offset = 0;
};

Shape scaled(Shape strides, std::int64_t factor) {
  for (std::int64_t& stride : strides) stride *= factor;
  return strides;
}

const Arrangement arrangements[] = {
    {"contiguous", [](const Shape& shape) { return strides_of(shape, Layout::contiguous); }},
    {"channels last", [](const Shape& shape) { return strides_of(shape, Layout::channels_last); }},
    {"backwards", [](const Shape& shape) { return scaled(strides_of(shape, Layout::contiguous), -1); }},
    {"every third", [](const Shape& shape) { return scaled(strides_of(shape, Layout::channels_last), 3); }},
    {"transposed",
     [](const Shape& shape) {
       return Shape{1, shape[0], shape[0] * shape[1], shape[0] * shape[1] * shape[2]};
     }},
    {"padded rows",
     [](const Shape& shape) {
       const std::int64_t row = shape[3] + 5;
       return Shape{shape[1] * shape[2] * row, shape[2] * row, row, 1};
     }},
    {"odd address", [](const Shape& shape) { return strides_of(shape, Layout::contiguous); }, 1},
};

TEST(Convolution, TakesViewsOfAnyStrides) {
  for (const DType type : types()) {
    for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
      const Problem problem = small(type, layout);
      Tensors tensors(problem);
      const std::vector<double> expected = tensors.expected();
      Convolution convolution(problem);
      convolution.set_weights(tensors.weights());
      for (const Arrangement& in : arrangements) {
        for (const Arrangement& out : arrangements) {
          SCOPED_TRACE(std::string(name(type)) + " " + std::string(name(layout)) + ": " + in.name + " to " + out.name);
          Strided input(problem.dtype, tensors.input.shape, in.strides(tensors.input.shape), in.offset);
          Strided output(problem.dtype, tensors.output.shape, out.strides(tensors.output.shape), out.offset);
          input.fill(1);
          const auto access = [&](const Arrangement& one) {
            return one.name == std::string(layout == Layout::contiguous ? "contiguous" : "channels last")
                       ? Access::used
                       : Access::copied;
          };
          const Convolution::Accesses expected_accesses{.input = access(in), .output = access(out), .residual = {}};
          EXPECT_TRUE(expected_accesses == convolution.run(input.view(), output.mutable_view()));
          EXPECT_EQ(expected, values_of(output));
          output.wipe();
          EXPECT_TRUE(std::ranges::all_of(output.memory, [](std::byte one) { return one == std::byte{0xff}; }))
              << "memory between the outputs was written";
        }
      }
    }
  }
}

TEST(Convolution, TakesWeightsOfAnyStrides) {
  for (const DType type : types()) {
    const Problem problem = small(type);
    Tensors tensors(problem);
    Convolution convolution(problem);
    for (const Arrangement& arrangement : arrangements) {
      SCOPED_TRACE(arrangement.name);
      Strided weight(problem.dtype, tensors.weight.shape, arrangement.strides(tensors.weight.shape),
                     arrangement.offset);
      weight.fill(2);
      Strided bias(problem.dtype, tensors.bias->shape, {-2});
      for (std::int64_t i = 0; i < 4; ++i) bias.set(i, tensors.bias->get(i));
      convolution.set_weights({.weight = weight.view(), .bias = bias.view()});
      weight.fill(99);  // not needed any more
      (void)convolution.run(tensors.input.view(), tensors.output.mutable_view());
      EXPECT_EQ(tensors.expected(), values_of(tensors.output));
    }
  }
}

TEST(Convolution, BroadcastInputIsReadAsItStands) {
  Problem problem = small(DType::float64);
  problem.bias = false;
  Tensors tensors(problem);
  for (std::int64_t i = 0; i < element_count(tensors.input.shape); ++i) tensors.input.set(i, 2);
  const double two = 2;
  Convolution convolution(problem);
  convolution.set_weights(tensors.weights());
  const Convolution::Accesses accesses =
      convolution.run({.data = &two, .dtype = DType::float64, .shape = tensors.input.shape, .strides = {0, 0, 0, 0}},
                      tensors.output.mutable_view());
  EXPECT_EQ(Access::copied, accesses.input);
  EXPECT_EQ(Access::used, accesses.output);
  EXPECT_EQ(tensors.expected(), values_of(tensors.output));
}

TEST(Convolution, StridesOfSizesOfOneDoNotMatter) {
  Problem problem = pointwise(1, 8);
  problem.residual = false;
  Tensors tensors(problem);
  Convolution convolution(problem);
  convolution.set_weights(tensors.weights());
  tensors.input.strides = {-5, 1000, 1};
  tensors.output.strides = {0, 0, 1};
  EXPECT_TRUE(all_used == convolution.run(tensors.input.view(), tensors.output.mutable_view()));
  EXPECT_EQ(tensors.expected(), values_of(tensors.output));
}

TEST(Convolution, ComputesAnyProblemOfFloat64) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = any_random_problem(seed, 1e5);
    problem.dtype = problem.out_dtype = DType::float64;
    problem.contract = Contract::fp64;
    problem.tie_rule = TieRule::away;
    validate(problem);
    SCOPED_TRACE(seed);
    Tensors tensors(problem, seed);
    Convolution convolution(problem);
    convolution.set_weights(tensors.weights());
    const Convolution::Accesses accesses =
        convolution.run(tensors.input.view(), tensors.output.mutable_view(), Tensors::view(tensors.residual));
    EXPECT_EQ(problem.residual, accesses.residual.has_value());
    EXPECT_EQ(tensors.expected(), values_of(tensors.output));
  }
}

TEST(Convolution, DynamicSizesComeFromTheInput) {
  for (const DType type : types()) {
    Problem problem = small(type);
    problem.dynamic_batch = problem.dynamic_input[1] = true;
    Convolution convolution(problem);
    convolution.set_weights(Tensors(problem).weights());
    for (const auto& [batch, width] : std::vector<std::pair<int, int>>{{2, 6}, {1, 9}, {3, 1}, {2, 6}}) {
      Problem sized = problem;
      sized.batch = batch;
      sized.input[1] = width;
      Tensors tensors(sized);
      EXPECT_TRUE(all_used == convolution.run(tensors.input.view(), tensors.output.mutable_view()));
      EXPECT_EQ(tensors.expected(), values_of(tensors.output));
      EXPECT_TRUE(sized == convolution.problem());
      EXPECT_TRUE(sized == with_input_shape(problem, tensors.input.shape));
    }
    Tensors tensors(problem);
    tensors.input.shape[2] = 4;
    expect_error([&] { (void)convolution.run(tensors.input.view(), tensors.output.mutable_view()); },
                 "input has shape (2, 3, 4, 6); the problem needs (any, 3, 5, any)");
    expect_error(
        [&] {
          (void)with_input_shape(problem, Shape{2, 3, 5});
        },
        "input has shape (2, 3, 5); the problem needs (any, 3, 5, any)");
    expect_error([&] { (void)with_input_shape(problem, Shape{2, 4, 5, 6}); }, "the problem needs (any, 3, 5, any)");
    expect_error([&] { (void)with_input_shape(problem, Shape{0, 3, 5, 6}); }, "batch");
    expect_error([&] { (void)with_input_shape(problem, Shape{2, 3, 5, -1}); }, "input");
    expect_error(
        [&] {
          (void)with_input_shape(problem, Shape{2, 3, 5, std::numeric_limits<std::int64_t>::max()});
        },
        "too large");
  }
}

TEST(Convolution, ObjectsRunInParallel) {
  if (!cpu_engine_available()) GTEST_SKIP() << "needs oneDNN";
  std::vector<std::vector<double>> results(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      Tensors tensors(small(DType::float32), i % 2);
      Convolution convolution(tensors.problem, {}, {.threads = 1});
      convolution.set_weights(tensors.weights());
      for (int repeat = 0; repeat < 20; ++repeat)
        (void)convolution.run(tensors.input.view(), tensors.output.mutable_view());
      results[i] = values_of(tensors.output);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_EQ(Tensors(small(DType::float32), i % 2).expected(), results[i]);
}

TEST(Convolution, MovesWithItsWeights) {
  Tensors tensors(small(DType::float64));
  Convolution first(tensors.problem);
  first.set_weights(tensors.weights());
  Convolution second = std::move(first);
  EXPECT_TRUE(all_used == second.run(tensors.input.view(), tensors.output.mutable_view()));
  EXPECT_EQ(tensors.expected(), values_of(tensors.output));
  EXPECT_EQ("oracle", second.implementation());
  EXPECT_EQ("used", name(Access::used));
  EXPECT_EQ("copied", name(Access::copied));
}

}  // namespace
}  // namespace tapconv::testing
