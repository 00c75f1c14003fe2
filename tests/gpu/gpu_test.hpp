#pragma once

#include <gtest/gtest.h>

#include "cuda/driver.hpp"
#include "engine/session.hpp"

namespace tapconv::testing {

/// Skips, visibly, where there is no GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda::device_count() == 0) GTEST_SKIP() << cuda::missing_reason();
  }

  static std::unique_ptr<Session> open(const Problem& problem) {
    return Session::open(problem, {.kind = Device::Kind::cuda, .index = 0});
  }

  static std::vector<std::int64_t> all_outputs(const Problem& problem) {
    return sample_outputs(problem, element_count(output_shape(problem)), 0);
  }
};

/// The operands that a session's recipes draw, on the host.
struct HostOperands {
  std::vector<float> input, weight, bias;

  HostOperands(const Problem& problem, const Recipes& recipes)
      : input(draw(recipes.input, element_count(input_shape(problem)))),
        weight(draw(recipes.weight, element_count(weight_shape(problem)))),
        bias(draw(recipes.bias, problem.bias ? problem.out_channels : 0)) {}

  [[nodiscard]] Operands spans() const { return operands(input, weight, bias); }

 private:
  static std::vector<float> draw(const shared::Recipe& recipe, std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = shared::seeded_value(recipe, i);
    return values;
  }
};

}  // namespace tapconv::testing
