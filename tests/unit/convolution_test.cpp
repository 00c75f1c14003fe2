#include "tapconv/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <thread>

#include "engine/convolution_backend.hpp"
#include "engine/cpu_engine.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

using Shape = std::vector<std::int64_t>;

/// A tensor of `shape` whose elements lie in `strides` of a larger block of memory, at `offset` bytes from its start.
struct Strided {
  Strided(DType type, Shape sizes, Shape steps, std::size_t offset = 0)
      : dtype(type), shape(std::move(sizes)), strides(std::move(steps)) {
    std::int64_t before = 0, after = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      (strides[axis] < 0 ? before : after) += strides[axis] * (shape[axis] - 1);
    const std::size_t bytes = element_bytes(dtype);
    // What lies between the elements is a NaN.
    memory.assign(static_cast<std::size_t>(after - before) * bytes + 64, std::byte{0xff});
    const auto misaligned = reinterpret_cast<std::uintptr_t>(memory.data()) % 32;
    data = memory.data() + (32 - misaligned) % 32 + offset + static_cast<std::size_t>(-before) * bytes;
  }

  [[nodiscard]] std::int64_t place(std::int64_t index) const {
    std::int64_t found = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      found += index % shape[axis] * strides[axis];
      index /= shape[axis];
    }
    return found;
  }

  void set(std::int64_t index, double value) {
    std::byte element[8];
    store_element(element, dtype, 0, value);
    std::memcpy(data + place(index) * static_cast<std::int64_t>(element_bytes(dtype)), element, element_bytes(dtype));
  }

  /// As at first.
  void wipe() {
    for (std::int64_t i = 0; i < element_count(shape); ++i)
      std::memset(data + place(i) * static_cast<std::int64_t>(element_bytes(dtype)), 0xff, element_bytes(dtype));
  }

  [[nodiscard]] double get(std::int64_t index) const {
    alignas(8) std::byte element[8];
    std::memcpy(element, data + place(index) * static_cast<std::int64_t>(element_bytes(dtype)), element_bytes(dtype));
    return load_element(element, dtype, 0);
  }

  /// Small integers, of which every sum is exact.
  void fill(std::uint64_t seed) {
    for (std::int64_t i = 0; i < element_count(shape); ++i)
      set(i, static_cast<double>((static_cast<std::uint64_t>(i) * 2654435761U + seed * 40503U) % 7) - 3);
  }

  [[nodiscard]] TensorView view() const { return {.data = data, .dtype = dtype, .shape = shape, .strides = strides}; }
  [[nodiscard]] MutableTensorView mutable_view() {
    return {.data = data, .dtype = dtype, .shape = shape, .strides = strides};
  }

  DType dtype;
  Shape shape, strides;
  std::vector<std::byte> memory;
  std::byte* data;
};

Strided dense(DType dtype, const Shape& shape, Layout layout) { return {dtype, shape, strides_of(shape, layout)}; }

/// A problem's tensors, filled with integers.
struct Tensors {
  explicit Tensors(const Problem& p, std::uint64_t seed = 1)
      : problem(p),
        input(dense(p.dtype, input_shape(p), p.layout)),
        weight(dense(p.dtype, weight_shape(p), p.layout)),
        output(dense(p.out_dtype, output_shape(p), p.layout)) {
    input.fill(seed);
    weight.fill(seed + 1);
    const auto add = [&](std::optional<Strided>& target, DType dtype, const Shape& shape) {
      target.emplace(dense(dtype, shape, p.layout));
      target->fill(++seed + 1);
    };
    if (p.bias) add(bias, p.dtype, {bias_count(p)});
    if (p.kind == Kind::depthwise_separable) add(pointwise_weight, p.dtype, pointwise_weight_shape(p));
    if (p.kind == Kind::depthwise_separable && p.bias) add(pointwise_bias, p.dtype, {pointwise_bias_count(p)});
    if (p.residual) add(residual, p.out_dtype, output_shape(p));
  }

  [[nodiscard]] WeightViews weights() const {
    return {.weight = weight.view(),
            .bias = view(bias),
            .pointwise_weight = view(pointwise_weight),
            .pointwise_bias = view(pointwise_bias)};
  }

  static std::optional<TensorView> view(const std::optional<Strided>& tensor) {
    return tensor ? std::optional(tensor->view()) : std::nullopt;
  }

  /// The oracle's outputs, as `problem` stores them.
  [[nodiscard]] std::vector<double> expected() const {
    std::vector<std::int64_t> outputs;
    for (std::int64_t i = 0; i < element_count(output.shape); ++i) outputs.push_back(i);
    const auto bytes = [](const std::optional<Strided>& tensor) {
      return tensor ? std::span<const std::byte>(tensor->data, static_cast<std::size_t>(element_count(tensor->shape)) *
                                                                   element_bytes(tensor->dtype))
                    : std::span<const std::byte>{};
    };
    const Operands operands{.input = bytes(input),
                            .weight = bytes(weight),
                            .bias = bytes(bias),
                            .pointwise_weight = bytes(pointwise_weight),
                            .pointwise_bias = bytes(pointwise_bias),
                            .residual = bytes(residual)};
    std::vector<double> values;
    for (const OracleOutput& one :
         oracle(problem, operands, outputs, operand_rounding(problem.contract, problem.tie_rule)))
      values.push_back(round_to(one.value, problem.out_dtype));
    return values;
  }

  Problem problem;
  Strided input, weight, output;
  std::optional<Strided> bias{}, pointwise_weight{}, pointwise_bias{}, residual{};
};

std::vector<double> values_of(const Strided& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(tensor.shape); ++i) values.push_back(tensor.get(i));
  return values;
}

/// float64 needs no oneDNN; float32 does.
std::vector<DType> types() {
  if (cpu_engine_available()) return {DType::float64, DType::float32};
  return {DType::float64};
}

/// Conv2d(3, 4, (2, 3), padding=1) @ 2x3x5x6.
Problem small(DType dtype, Layout layout = Layout::contiguous) {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 3;
  problem.out_channels = 4;
  problem.input = {5, 6, 1};
  problem.kernel = {2, 3, 1};
  problem.padding_lo = problem.padding_hi = {1, 1, 0};
  problem.dtype = problem.out_dtype = dtype;
  problem.layout = layout;
  problem.contract = default_contract(dtype);
  return problem;
}

/// One channel, one tap, float64, with a residual, on an input of (batch, 1, width).
Problem pointwise(std::int64_t batch, std::int64_t width) {
  Problem problem;
  problem.rank = 1;
  problem.batch = batch;
  problem.input[0] = width;
  problem.dtype = problem.out_dtype = DType::float64;
  problem.contract = Contract::fp64;
  problem.bias = false;
  problem.residual = true;
  return problem;
}

void expect_error(const std::function<void()>& body, std::string_view part, ErrorCode code = ErrorCode::usage) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(code, error.code());
    EXPECT_NE(std::string::npos, std::string_view(error.what()).find(part)) << error.what() << "\nexpected: " << part;
  }
}

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
    Problem problem = testing::any_random_problem(seed, 1e5);
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

TEST(Convolution, SessionBackendComputesTheSame) {
  for (std::uint64_t seed = 100; seed < 120; ++seed) {
    Problem problem = testing::any_random_problem(seed, 1e5);
    problem.dtype = problem.out_dtype = DType::float64;
    problem.contract = Contract::fp64;
    problem.tie_rule = TieRule::away;
    SCOPED_TRACE(seed);
    if (!cpu_engine_available()) GTEST_SKIP() << "a session on the CPU needs oneDNN";
    Tensors tensors(problem, seed);
    const auto bytes = [](const std::optional<Strided>& tensor) {
      return tensor ? std::span<std::byte>(tensor->data, static_cast<std::size_t>(element_count(tensor->shape)) *
                                                             element_bytes(tensor->dtype))
                    : std::span<std::byte>{};
    };
    // Opened at another size: the weights must outlive the session that they were set in.
    Problem other = problem;
    other.batch = 5;
    const auto backend = make_session_backend(other, {});
    backend->set_weights({.input = {},
                          .weight = bytes(tensors.weight),
                          .bias = bytes(tensors.bias),
                          .pointwise_weight = bytes(tensors.pointwise_weight),
                          .pointwise_bias = bytes(tensors.pointwise_bias),
                          .residual = {}});
    backend->set_sizes(problem);
    backend->run(bytes(tensors.input), bytes(tensors.residual), bytes(tensors.output));
    EXPECT_FALSE(backend->in_place());
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
        "input");
  }
}

TEST(Convolution, RefusesTensorsThatDoNotFit) {
  Problem problem = small(DType::float64);
  problem.bias = false;
  problem.residual = true;
  Tensors tensors(problem);
  Convolution convolution(problem);
  const auto run = [&](const TensorView& x, const MutableTensorView& y, const std::optional<TensorView>& r) {
    return [&, x, y, r] { (void)convolution.run(x, y, r); };
  };
  const TensorView x = tensors.input.view(), r = tensors.residual->view();
  const MutableTensorView y = tensors.output.mutable_view();
  expect_error(run(x, y, r), "weight is missing; valid: set_weights() before run()");
  convolution.set_weights(tensors.weights());
  (void)convolution.run(x, y, r);

  const auto changed = [](auto view, auto change) {
    change(view);
    return view;
  };
  const auto null = [](auto& view) { view.data = nullptr; };
  const auto transposed = [](auto& view) { std::swap(view.shape[0], view.shape[1]); };
  const auto narrower = [](auto& view) { view.dtype = DType::float32; };
  const auto few_strides = [](auto& view) { view.strides.pop_back(); };
  const auto far = [](auto& view) { view.strides[0] = std::numeric_limits<std::int64_t>::min(); };
  const auto empty = [](auto& view) { view.shape[0] = 0; };
  expect_error(run(changed(x, null), y, r), "input: data is null");
  expect_error(run(x, changed(y, null), r), "output: data is null");
  expect_error(run(x, y, changed(r, null)), "residual: data is null");
  expect_error(run(changed(x, transposed), y, r), "input has shape (3, 2, 5, 6); the problem needs (2, 3, 5, 6)");
  expect_error(run(x, changed(y, transposed), r), "output has shape (4, 2, 6, 6); the problem needs (2, 4, 6, 6)");
  expect_error(run(x, y, changed(r, transposed)), "residual has shape (4, 2, 6, 6); the problem needs (2, 4, 6, 6)");
  expect_error(run(changed(x, narrower), y, r), "input is of float32; the problem needs float64");
  expect_error(run(x, changed(y, narrower), r), "output is of float32; the problem needs float64");
  expect_error(run(x, y, changed(r, narrower)), "residual is of float32; the problem needs float64");
  expect_error(run(changed(x, few_strides), y, r), "input: strides");
  expect_error(run(x, changed(y, few_strides), r), "output: strides");
  expect_error(run(changed(x, far), y, r), "input: strides");
  expect_error(run(x, changed(y, far), r), "output: strides");
  expect_error(run(changed(x, empty), y, r), "input: shape (0, 3, 5, 6)");
  expect_error(run(x, y, std::nullopt), "residual is missing; the problem has residual=True");

  const WeightViews weights = tensors.weights();
  expect_error([&] { convolution.set_weights({.weight = changed(weights.weight, null)}); }, "weight: data is null");
  expect_error([&] { convolution.set_weights({.weight = changed(weights.weight, transposed)}); },
               "weight has shape (3, 4, 2, 3); the problem needs (4, 3, 2, 3)");
  expect_error([&] { convolution.set_weights({.weight = weights.weight, .bias = weights.weight}); },
               "bias is given; the problem has bias=False");
  expect_error([&] { convolution.set_weights({.weight = weights.weight, .pointwise_weight = weights.weight}); },
               "pointwise_weight is given; the problem has no pointwise half");
  // The weights of before still serve.
  (void)convolution.run(x, y, r);
  EXPECT_EQ(tensors.expected(), values_of(tensors.output));

  Convolution plain(small(DType::float64));
  expect_error([&] { plain.set_weights(weights); }, "bias is missing; the problem has bias=True");
  plain.set_weights(Tensors(plain.problem()).weights());
  expect_error([&] { (void)plain.run(x, y, r); }, "residual is given; the problem has residual=False");
}

TEST(Convolution, RefusesOutputsThatOverlap) {
  const Problem problem = pointwise(2, 4);
  Tensors tensors(problem);
  Convolution convolution(problem);
  convolution.set_weights(tensors.weights());
  std::vector<double> memory(32);
  const auto at = [&](std::size_t offset, Shape strides) {
    return MutableTensorView{
        .data = memory.data() + offset, .dtype = DType::float64, .shape = {2, 1, 4}, .strides = std::move(strides)};
  };
  const auto read = [](const MutableTensorView& view) {
    return TensorView{.data = view.data, .dtype = view.dtype, .shape = view.shape, .strides = view.strides};
  };
  const MutableTensorView x = at(8, {4, 4, 1}), r = at(24, {4, 4, 1});
  for (const Shape& strides : {Shape{0, 4, 1}, Shape{3, 4, 1}, Shape{4, 4, 0}, Shape{-3, 1, -1}, Shape{1, 4, 1}})
    expect_error([&] { (void)convolution.run(read(x), at(18, strides), read(r)); }, "by which elements share memory");
  const auto refused = [&](const MutableTensorView& y, std::string_view field) {
    expect_error([&] { (void)convolution.run(read(x), y, read(r)); },
                 "output lies in the memory of " + std::string(field));
  };
  refused(x, "input");
  refused(at(1, {4, 4, 1}), "input");                            // its last element on the first input
  refused(at(15, {4, 4, 1}), "input");                           // its first element on the last input
  refused(at(22, {-4, 4, -1}), "input");                         // backwards, its last on the last input
  refused(at(17, {4, 4, 1}), "residual");                        // its last element on the first residual
  refused(at(0, {20, 4, 1}), "input");                           // on both sides of it
  (void)convolution.run(read(x), at(16, {4, 4, 1}), read(r));    // right between them
  (void)convolution.run(read(x), at(0, {4, 4, 1}), read(r));     // right before
  (void)convolution.run(read(x), at(23, {-4, 4, -1}), read(r));  // backwards
  (void)convolution.run(read(x), at(16, {4, 4, 1}), read(x));    // residual and input may be one
}

TEST(Convolution, RefusesWhatItCannotPlan) {
  Problem problem = small(DType::float64);
  expect_error([&] { (void)Convolution(problem, {}, {.threads = 2}); }, "threads = 2; valid for float64");
  expect_error([&] { (void)Convolution(problem, {.kind = Device::Kind::cuda, .index = 0}, {.threads = -1}); },
               "threads = -1; valid on cuda:0: 0");
  problem.stride[0] = 0;
  expect_error([&] { (void)Convolution(problem); }, "stride");
  const Problem single = small(DType::float32);
  if (cpu_engine_available()) {
    expect_error([&] { (void)Convolution(single, {}, {.threads = -1}); }, "threads = -1");
  } else {
    expect_error([&] { (void)Convolution(single); }, "built without oneDNN", ErrorCode::environment);
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
}  // namespace tapconv
