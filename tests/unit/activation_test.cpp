#include <gtest/gtest.h>

#include <cmath>

#include "special_numbers.hpp"
#include "tapconv/numerics.hpp"

namespace tapconv {
namespace {

using testing::infinity;

TEST(Activation, ValuesFromTheirDefinitions) {
  // Computed to 40 digits from the definitions: v/(1+e^-v), v*Phi(v), v/2 (1+tanh(...)).
  const struct {
    double v, silu, gelu, gelu_tanh;
  } rows[] = {{1.0, 0.73105857863000487925, 0.84134474606854294858, 0.84119199060827670478},
              {-1.0, -0.26894142136999512075, -0.15865525393145705141, -0.15880800939172329522},
              {-3.0, -0.14227761953270034263, -0.00404969409489028358, -0.00363739208177301884},
              {0.0, 0.0, 0.0, 0.0}};
  for (const auto& row : rows) {
    EXPECT_NEAR(row.silu, activate(Activation::silu, row.v, 0), 1e-15);
    EXPECT_NEAR(row.gelu, activate(Activation::gelu, row.v, 0), 1e-15);
    EXPECT_NEAR(row.gelu_tanh, activate(Activation::gelu_tanh, row.v, 0), 1e-15);
  }
  EXPECT_EQ(0, activate(Activation::relu, -2, 0));
  EXPECT_EQ(2, activate(Activation::relu, 2, 0));
  EXPECT_EQ(-0.5, activate(Activation::leaky_relu, -2, 0.25));
  EXPECT_EQ(4, activate(Activation::leaky_relu, -2, -2));
}

TEST(Activation, NaNStaysAndInfinitiesHaveLimits) {
  for (const Activation activation : all_activations) {
    EXPECT_TRUE(std::isnan(activate(activation, std::nan(""), 0.1))) << name(activation);
    EXPECT_EQ(infinity, activate(activation, infinity, 0.1)) << name(activation);
  }
  for (const Activation activation : {Activation::relu, Activation::silu, Activation::gelu, Activation::gelu_tanh})
    EXPECT_EQ(0, activate(activation, -infinity, 0.1)) << name(activation);
}

/// The bound of an activated sum is never less than what moving the sum by its error does.
TEST(Activation, BoundCoversTheSlope) {
  for (const Activation activation : all_activations) {
    for (double v = -12; v <= 12; v += 1.0 / 64) {
      const double error = 0x1p-12;
      const double allowed = activated_error(activation, v, error, -3.0);
      for (const double moved : {v - error, v + error}) {
        const double change = std::abs(activate(activation, moved, -3.0) - activate(activation, v, -3.0));
        EXPECT_LE(change, allowed * (1 + 1e-9)) << name(activation) << " at " << v;
      }
      EXPECT_LE(allowed, 4 * error) << "and is not far more";
    }
  }
}

TEST(Contracts, ApplyToTypes) {
  EXPECT_EQ(Contract::fp32, default_contract(DType::float32));
  EXPECT_EQ(Contract::bf16, default_contract(DType::bfloat16));
  EXPECT_EQ(Contract::fp16, default_contract(DType::float16));
  EXPECT_EQ(Contract::fp64, default_contract(DType::float64));
  EXPECT_TRUE(applies_to(Contract::tf32, DType::float32));
  EXPECT_FALSE(applies_to(Contract::tf32, DType::bfloat16));
  EXPECT_TRUE(applies_to(Contract::fp32, DType::bfloat16));
  EXPECT_TRUE(applies_to(Contract::ieee, DType::float16));
  EXPECT_FALSE(applies_to(Contract::bf16, DType::float16));
  EXPECT_FALSE(applies_to(Contract::fp64, DType::float32));
  EXPECT_FALSE(applies_to(Contract::ieee, DType::float64));
}

}  // namespace
}  // namespace tapconv
