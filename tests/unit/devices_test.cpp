#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/device.hpp"
#include "h200.hpp"
#include "solver/device_model.hpp"
#include "tapconv/convolution.hpp"
#include "tapconv/tune.hpp"
#include "tapconv/workbench.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

constexpr const char* models[] = {"h200", "h100", "a100", "l40s", "rtx4090", "b200", "rtx5090"};

TEST(Devices, AreSevenWithDifferentNames) {
  std::set<std::string> names;
  for (const char* model : models) names.insert(known_device(model).facts.name);
  EXPECT_EQ(7u, names.size());
  EXPECT_EQ(7u, known_devices().size());
  expect_error(ErrorCode::usage, "device model = H200; valid: h200, h100", [] { (void)known_device("H200"); });
}

TEST(Devices, TheH200IsAsItsDriverReportsIt) {
  const cuda::DeviceFacts facts = known_device("h200").facts, driver = testing::h200();
  EXPECT_EQ(driver.name, facts.name);
  EXPECT_EQ(driver.compute_major, facts.compute_major);
  EXPECT_EQ(driver.multiprocessors, facts.multiprocessors);
  EXPECT_EQ(driver.shared_per_block_opt_in, facts.shared_per_block_opt_in);
  EXPECT_EQ(driver.shared_per_multiprocessor, facts.shared_per_multiprocessor);
  EXPECT_EQ(driver.registers_per_block, facts.registers_per_block);
  EXPECT_EQ(driver.max_grid, facts.max_grid);
  EXPECT_EQ(driver.l2_bytes, facts.l2_bytes);
  EXPECT_EQ(driver.sm_clock_khz, facts.sm_clock_khz);
  EXPECT_EQ(driver.memory_bus_bits, facts.memory_bus_bits);
}

TEST(Devices, LimitsAreThoseOfUnitsAndClocks) {
  for (const DeviceModel& device : known_devices()) {
    SCOPED_TRACE(device.facts.name);
    const cuda::DeviceFacts& facts = device.facts;
    const double memory = 2e3 * facts.memory_clock_khz * facts.memory_bus_bits / 8;
    EXPECT_NEAR(memory, device.ceilings.limit_byte_per_s, 0.005 * memory);
    const double clocks = 1e3 * facts.sm_clock_khz * facts.multiprocessors;
    const double ffma = device.ceilings.limit_ffma_flop_per_s / clocks;
    EXPECT_NEAR(facts.compute_major == 8 && facts.compute_minor == 0 ? 128 : 256, ffma, 0.2);
    // A power of two of FLOP a clock, 16-bit types twice as many as TF32.
    const double tensor = std::log2(device.ceilings.limit_tf32_flop_per_s / clocks);
    EXPECT_NEAR(std::round(tensor), tensor, 0.002);
    EXPECT_NEAR(2, device.ceilings.limit_f16_flop_per_s / device.ceilings.limit_tf32_flop_per_s, 0.005);
    EXPECT_LE(facts.shared_per_block_opt_in, facts.shared_per_multiprocessor);
  }
}

TEST(Devices, ReachIsMeasuredOnTheH200AndDerivedElsewhere) {
  Ceilings derived = known_device("h200").ceilings;
  EXPECT_FALSE(derived.reach_derived);
  const Ceilings measured = derived;
  derive_reach(derived);
  EXPECT_NEAR(1, derived.reach_byte_per_s / measured.reach_byte_per_s, 0.001);
  EXPECT_NEAR(1, derived.reach_ffma_flop_per_s / measured.reach_ffma_flop_per_s, 0.001);
  EXPECT_NEAR(1, derived.reach_tf32_flop_per_s / measured.reach_tf32_flop_per_s, 0.001);
  EXPECT_NEAR(1, derived.reach_f16_flop_per_s / measured.reach_f16_flop_per_s, 0.001);
  for (const DeviceModel& device : known_devices())
    EXPECT_EQ(device.facts.name != "NVIDIA H200", device.ceilings.reach_derived) << device.facts.name;
}

TEST(Devices, OthersHaveLimitsByTheirFacts) {
  cuda::DeviceFacts facts = testing::h200();
  facts.name = "NVIDIA H200 of tomorrow";
  facts.multiprocessors *= 2;
  const DeviceModel other = device_model(facts);
  EXPECT_TRUE(other.ceilings.reach_derived);
  EXPECT_DOUBLE_EQ(2 * 66.90816e12, other.ceilings.limit_ffma_flop_per_s);
  EXPECT_LT(other.ceilings.reach_ffma_flop_per_s, other.ceilings.limit_ffma_flop_per_s);
}

TEST(Devices, AreSpelledAndReadBack) {
  for (const char* model : models) {
    const Device device = parse_device(model);
    EXPECT_EQ(Device::Kind::model, device.kind);
    EXPECT_EQ(model, name(device));
    EXPECT_TRUE(find_floor(parse_problem("kb56"), known_device(model).facts.name).has_value());
  }
  for (const char* wrong : {"H200", "h300", "h200:0", "model", ""})
    EXPECT_THROW((void)parse_device(wrong), SpellingError);
}

TEST(Devices, NothingButPlanTakesAModel) {
  const Problem problem = parse_problem("Conv1d(1, 1, 1) @ 1x1x4");
  const Device device = parse_device("h200");
  const std::string part = "device = h200 is a model";
  expect_error(ErrorCode::usage, part, [&] { (void)run(problem, device, {}); });
  CheckRequest checked;
  checked.problem = problem;
  checked.device = device;
  expect_error(ErrorCode::usage, part, [&] { (void)check(checked); });
  BenchRequest benched;
  benched.problem = problem;
  benched.device = device;
  expect_error(ErrorCode::usage, part, [&] { (void)bench(benched); });
  expect_error(ErrorCode::usage, part, [&] { (void)specs(device); });
  expect_error(ErrorCode::usage, part, [&] { (void)Convolution(problem, device); });
  expect_error(ErrorCode::usage, part, [&] { (void)tune({.problem = problem, .device = device}); });
  expect_error(ErrorCode::usage, "device = cpu; there is nothing to tune",
               [&] { (void)tune({.problem = problem, .device = {}}); });
}

}  // namespace
}  // namespace tapconv
