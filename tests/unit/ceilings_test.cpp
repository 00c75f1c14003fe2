#include "problem/ceilings.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "problem/data.hpp"
#include "spelling/lists.hpp"

namespace tapconv {
namespace {

/// `value` with three significant digits.
double printed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2e", value);
  return std::strtod(text, nullptr);
}

/// A device that moves 1 GB and computes 2 GFLOP (FFMA), 12 GFLOP (TF32) or 30 GFLOP (16-bit) per ms, physically twice
/// that.
Ceilings round_numbers() {
  return {.name = "round",
          .limit_byte_per_s = 2e12,
          .reach_byte_per_s = 1e12,
          .limit_ffma_flop_per_s = 4e12,
          .reach_ffma_flop_per_s = 2e12,
          .limit_tf32_flop_per_s = 24e12,
          .reach_tf32_flop_per_s = 12e12,
          .limit_f16_flop_per_s = 60e12,
          .reach_f16_flop_per_s = 30e12};
}

Problem compute_bound() { return parse_problem("Conv2d(512, 512, 3, padding=1, bias=False) @ 4x512x64x64"); }

TEST(Ceilings, AreFoundByExactName) {
  const auto h200 = std::find_if(known_ceilings().begin(), known_ceilings().end(),
                                 [](const Ceilings& c) { return c.name == "NVIDIA H200"; });
  ASSERT_NE(h200, known_ceilings().end());
  EXPECT_EQ(h200->limit_byte_per_s, 4.8e12);
  EXPECT_EQ(h200->limit_ffma_flop_per_s, 132 * 128 * 2 * 1.98e9);
  EXPECT_LE(h200->limit_tf32_flop_per_s, 132 * 1024 * 2 * 1.98e9);
  EXPECT_EQ(find_floor(compute_bound(), "NVIDIA H200")->limit_ms, floor_time(compute_bound(), *h200).limit_ms);
  for (const char* other : {"H200", "NVIDIA H200 NVL", "nvidia h200", "NVIDIA H300", "h200", ""}) {
    EXPECT_FALSE(find_floor(compute_bound(), other).has_value()) << other;
  }
}

TEST(FloorTime, WritesThatStayInTheCacheMakeMemoryLimitsPlausiblyShorter) {
  Ceilings ceilings = round_numbers();
  const Problem memory_bound = parse_problem("Conv2d(64, 64, 1, groups=64, bias=False) @ 1x64x64x64");
  const double output_ms = 1e3 * 4 * 64 * 64 * 64 / ceilings.limit_byte_per_s;
  EXPECT_DOUBLE_EQ(floor_time(memory_bound, ceilings).plausible_ms, floor_time(memory_bound, ceilings).limit_ms);
  ceilings.l2_byte = 1e9;
  EXPECT_DOUBLE_EQ(floor_time(memory_bound, ceilings).plausible_ms,
                   floor_time(memory_bound, ceilings).limit_ms - output_ms);
  ceilings.l2_byte = 2 * 64 * 64 * 64;
  EXPECT_DOUBLE_EQ(floor_time(memory_bound, ceilings).plausible_ms,
                   floor_time(memory_bound, ceilings).limit_ms - output_ms / 2);
  EXPECT_DOUBLE_EQ(floor_time(compute_bound(), ceilings).plausible_ms, floor_time(compute_bound(), ceilings).limit_ms);
}

TEST(Ceilings, PublishedFloorsAreReproducedToTheirThreeDigits) {
  const std::pair<Contract, const char*> columns[] = {
      {Contract::tf32, "tf32"}, {Contract::ieee, "fp32_ffma"}, {Contract::fp32, "fp32"}};
  const nlohmann::json data = read_data("published.json");
  int compared = 0;
  for (const auto& entry : data.at("problems")) {
    const NamedProblem* published = find_named(entry.at("id").get<std::string>());
    ASSERT_NE(published, nullptr);
    for (const auto& [contract, column] : columns) {
      SCOPED_TRACE(published->name + " " + column);
      Problem problem = published->problem;
      problem.contract = contract;
      const TimeFloor floor = *find_floor(problem, "NVIDIA H200");
      EXPECT_EQ(printed(floor.limit_ms), entry.at("limit_ms").at(column).get<double>());
      // Published from rates of more digits than were published: the third digit may differ by one.
      EXPECT_NEAR(printed(floor.reach_ms), entry.at("reach_ms").at(column).get<double>(), 0.004 * floor.reach_ms);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 3 * 35);
}

TEST(FloorTime, SixteenBitTensorsMoveHalfAndComputeFaster) {
  Problem problem = compute_bound();
  const Work full = work(problem);
  problem.dtype = problem.out_dtype = DType::bfloat16;
  EXPECT_DOUBLE_EQ(full.byte / 2, work(problem).byte);
  for (const Contract contract : {Contract::bf16, Contract::fp32}) {
    problem.contract = contract;
    EXPECT_EQ("16-bit", floor_time(problem, round_numbers()).bound_by);
    EXPECT_DOUBLE_EQ(1e3 * full.flop / 30e12, floor_time(problem, round_numbers()).reach_ms);
  }
  problem.contract = Contract::ieee;
  EXPECT_EQ("FFMA", floor_time(problem, round_numbers()).bound_by);
  problem.dtype = problem.out_dtype = DType::float64;
  problem.contract = Contract::fp64;
  EXPECT_EQ("memory", floor_time(problem, round_numbers()).bound_by);
}

TEST(FloorTime, ArithmeticFollowsTheContract) {
  Problem problem = compute_bound();
  const double gflop = work(problem).flop / 1e9;

  problem.contract = Contract::ieee;
  EXPECT_EQ(floor_time(problem, round_numbers()).bound_by, "FFMA");
  EXPECT_DOUBLE_EQ(floor_time(problem, round_numbers()).reach_ms, gflop / 2);
  EXPECT_DOUBLE_EQ(floor_time(problem, round_numbers()).limit_ms, gflop / 4);

  problem.contract = Contract::tf32;
  EXPECT_EQ(floor_time(problem, round_numbers()).bound_by, "TF32");
  EXPECT_DOUBLE_EQ(floor_time(problem, round_numbers()).reach_ms, gflop / 12);

  problem.contract = Contract::fp32;
  EXPECT_EQ(floor_time(problem, round_numbers()).bound_by, "3xTF32");
  EXPECT_DOUBLE_EQ(floor_time(problem, round_numbers()).reach_ms, gflop / 4);

  problem.groups = 2;
  EXPECT_EQ(floor_time(problem, round_numbers()).bound_by, "FFMA");

  Ceilings slow_tensor_cores = round_numbers();
  slow_tensor_cores.reach_tf32_flop_per_s = 5e12;
  problem.groups = 1;
  EXPECT_EQ(floor_time(problem, slow_tensor_cores).bound_by, "FFMA");
}

TEST(FloorTime, IsMemoryWhereTrafficIsLonger) {
  const Problem problem = parse_problem("Conv1d(8, 8, 1, groups=8) @ 1x8x1000000");
  const TimeFloor floor = floor_time(problem, round_numbers());
  EXPECT_EQ(floor.bound_by, "memory");
  EXPECT_DOUBLE_EQ(floor.reach_ms, work(problem).byte / 1e9);
  EXPECT_DOUBLE_EQ(floor.limit_ms, work(problem).byte / 2e9);
}

}  // namespace
}  // namespace tapconv
