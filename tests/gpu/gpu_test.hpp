#pragma once

#include <gtest/gtest.h>

#include "cuda/driver.hpp"
#include "engine/drawn_tensors.hpp"
#include "engine/host_tensors.hpp"
#include "engine/session.hpp"
#include "solver/device_model.hpp"

namespace tapconv::testing {

/// Skips, visibly, where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << cuda::missing_reason();
  }

  static const cuda::Context& context() { return cuda::Context::get(0); }
  static DeviceModel model() { return device_model(context().facts()); }

  static std::unique_ptr<Session> open(const Problem& problem) {
    return Session::open(problem, {.kind = Device::Kind::cuda, .index = 0});
  }
};

/// A test in `GetParam()`-numbered slices of its problems. Slices go to different processes, and the same slice of
/// different tests to the same one, so that kernels are compiled beside each other and once.
class SlicedGpuTest : public GpuTest, public ::testing::WithParamInterface<int> {
 public:
  static constexpr int slices = 16;

 protected:
  /// Every `slices`-th of all.
  template <class T>
  static std::vector<T> slice_of(const std::vector<T>& all) {
    std::vector<T> mine;
    for (auto i = static_cast<std::size_t>(GetParam()); i < all.size(); i += slices) mine.push_back(all[i]);
    return mine;
  }
};

/// The operands that recipes draw, on the host.
inline HostTensors drawn_operands(const Problem& p, const Recipes& recipes) {
  HostTensors host(p);
  const auto draw_one = [&](std::vector<std::byte>& tensor, const std::vector<std::int64_t>& shape, DType dtype,
                            const shared::Recipe& recipe) {
    if (!tensor.empty()) draw(tensor.data(), shape, dtype, p.layout, recipe);
  };
  draw_one(host.input, input_shape(p), p.dtype, recipes.input);
  draw_one(host.weight, weight_shape(p), p.dtype, recipes.weight);
  draw_one(host.bias, {bias_count(p)}, p.dtype, recipes.bias);
  draw_one(host.pointwise_weight, pointwise_weight_shape(p), p.dtype, recipes.pointwise_weight);
  draw_one(host.pointwise_bias, {pointwise_bias_count(p)}, p.dtype, recipes.pointwise_bias);
  draw_one(host.residual, output_shape(p), p.out_dtype, recipes.residual);
  return host;
}

}  // namespace tapconv::testing
