#include <gtest/gtest.h>

#include <limits>

#include "strided.hpp"

namespace tapconv::testing {
namespace {

TEST(ConvolutionRefusal, RefusesTensorsThatDoNotFit) {
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

TEST(ConvolutionRefusal, RefusesOutputsThatOverlap) {
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

TEST(ConvolutionRefusal, RefusesWhatItCannotPlan) {
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

}  // namespace
}  // namespace tapconv::testing
