#include "problem/occupancy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "solver/device_model.hpp"
#include "tapconv/calculators.hpp"
#include "temporary_folder.hpp"

namespace tapconv {
namespace {

using testing::expect_error;

Multiprocessor of(const char* model) { return multiprocessor(parse_device(model)); }

Occupancy of(const char* model, std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes) {
  return occupancy(of(model), {.threads = threads, .registers = registers, .shared_bytes = shared_bytes});
}

TEST(Occupancy, MultiprocessorsAreThoseOfTheGuide) {
  struct Expected {
    const char* model;
    std::int64_t count, warps, blocks, shared_bytes;
  };
  for (const auto& [model, count, warps, blocks, shared_bytes] : {Expected{"h200", 132, 64, 32, 233472},
                                                                  {"h100", 132, 64, 32, 233472},
                                                                  {"a100", 108, 64, 32, 167936},
                                                                  {"l40s", 142, 48, 24, 102400},
                                                                  {"rtx4090", 128, 48, 24, 102400},
                                                                  {"b200", 148, 64, 32, 233472},
                                                                  {"rtx5090", 170, 48, 24, 102400}}) {
    SCOPED_TRACE(model);
    const Multiprocessor processor = of(model);
    EXPECT_EQ(count, processor.count);
    EXPECT_EQ(warps, processor.warps);
    EXPECT_EQ(blocks, processor.blocks);
    EXPECT_EQ(65536, processor.registers);
    EXPECT_EQ(shared_bytes, processor.shared_bytes);
    EXPECT_EQ(shared_bytes - 1024, processor.shared_bytes_per_block);
  }
  EXPECT_EQ(16, resident_limits(8, 6)->blocks);
  EXPECT_EQ(48, resident_limits(8, 6)->warps);
  EXPECT_FALSE(resident_limits(7, 5));
  EXPECT_FALSE(resident_limits(13, 0));
}

TEST(Occupancy, ByHand) {
  // 96 registers are 3072 a warp: 5 warps a quarter, 20 in all, 5 blocks of 4. Shared memory: 233472 / 50176.
  const Occupancy shared = of("h200", 128, 96, 49152);
  EXPECT_EQ(4, shared.blocks);
  EXPECT_EQ(16, shared.warps);
  EXPECT_DOUBLE_EQ(0.25, shared.share);
  EXPECT_EQ(16, shared.by_warps);
  EXPECT_EQ(32, shared.by_blocks);
  EXPECT_EQ(5, shared.by_registers);
  EXPECT_EQ(4, shared.by_shared_memory);
  EXPECT_EQ(std::vector{Resource::shared_memory}, shared.limited_by);
  EXPECT_EQ(3072, shared.registers_per_warp);
  EXPECT_EQ(50176, shared.shared_bytes);
  // A fifth block: 233472 / 5 = 46694, in units of 128 46592, less 1024.
  EXPECT_EQ(45568, shared.one_more->shared_bytes);
  EXPECT_EQ(96, shared.one_more->registers);

  // 200 registers are 6400 a warp: 2 in a quarter's 16384, not 10 in 65536.
  EXPECT_EQ(8, of("h200", 32, 200, 0).by_registers);
  EXPECT_EQ(4, of("h200", 64, 200, 0).blocks);
  EXPECT_EQ(6, of("h200", 64, 168, 0).blocks);
  EXPECT_EQ(168, of("h200", 64, 200, 0).one_more->registers);

  EXPECT_EQ((std::vector{Resource::blocks}), of("h200", 32, 32, 0).limited_by);
  EXPECT_DOUBLE_EQ(0.5, of("h200", 32, 32, 0).share);
  EXPECT_FALSE(of("h200", 32, 32, 0).one_more);
  EXPECT_EQ((std::vector{Resource::warps, Resource::registers}), of("h200", 1024, 32, 0).limited_by);
  // 48 warps hold one block of 1024 threads.
  EXPECT_EQ(1, of("rtx4090", 1024, 32, 0).blocks);
  EXPECT_NEAR(2.0 / 3, of("rtx4090", 1024, 32, 0).share, 1e-12);
  // All of the shared memory.
  EXPECT_EQ(1, of("h200", 128, 32, 232448).blocks);
  EXPECT_EQ(2, of("h200", 128, 32, 115712).blocks);
  EXPECT_EQ(1, of("h200", 128, 32, 115713).blocks);
}

TEST(Occupancy, WhatDoesNotFitIsNoBlockAndSaysWhy) {
  const Occupancy none = of("h200", 1024, 65, 0);
  EXPECT_EQ(0, none.blocks);
  EXPECT_EQ(std::vector{Resource::registers}, none.limited_by);
  EXPECT_EQ(64, none.one_more->registers);
  // 5 warps are checked as 8: 8 x 8192 are all registers.
  EXPECT_EQ(1, of("h200", 160, 255, 0).blocks);
  EXPECT_EQ(0, of("h200", 288, 255, 0).blocks);
}

TEST(Occupancy, OneMoreIsTheMostThatFits) {
  std::mt19937_64 generator(1);
  int seen = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(generator() % bound); };
    const Multiprocessor processor = of(known_devices()[static_cast<std::size_t>(below(7))].ceilings.model.c_str());
    const BlockNeeds needs{.threads = 1 + below(1024),
                           .registers = 1 + below(255),
                           .shared_bytes = below(processor.shared_bytes_per_block + 1)};
    const Occupancy held = occupancy(processor, needs);
    EXPECT_EQ(held.blocks, std::min({held.by_warps, held.by_blocks, held.by_registers, held.by_shared_memory}));
    EXPECT_EQ(held.blocks * ((needs.threads + 31) / 32), held.warps);
    EXPECT_LE(held.warps, processor.warps);
    EXPECT_LE(held.warps * held.registers_per_warp, processor.registers);
    EXPECT_LE(held.blocks * held.shared_bytes, processor.shared_bytes);
    EXPECT_FALSE(held.limited_by.empty());
    if (!held.one_more) continue;
    const auto [registers, shared_bytes] = *held.one_more;
    if (registers == 0) continue;  // no number of registers is small enough
    ++seen;
    const auto blocks = [&](std::int64_t r, std::int64_t s) {
      return occupancy(processor, {.threads = needs.threads, .registers = r, .shared_bytes = s}).blocks;
    };
    EXPECT_GE(blocks(registers, shared_bytes), held.blocks + 1);
    if (registers < 255) {
      EXPECT_LE(blocks(registers + 1, shared_bytes), held.blocks);
    }
    if (shared_bytes < processor.shared_bytes_per_block) {
      EXPECT_LE(blocks(registers, shared_bytes + 1), held.blocks);
    }
  }
  EXPECT_GT(seen, 1000);
}

TEST(Occupancy, RefusesWhatNoLaunchMayHave) {
  const auto refused = [](std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes,
                          const char* message) {
    expect_error(ErrorCode::usage, message, [&] { (void)of("h200", threads, registers, shared_bytes); });
  };
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  refused(0, 32, 0, "threads = 0; valid on NVIDIA H200: 1 to 1024");
  refused(1025, 32, 0, "threads = 1025; valid on NVIDIA H200: 1 to 1024");
  refused(128, 0, 0, "registers = 0; valid on NVIDIA H200: 1 to 255");
  refused(128, huge, 0, "valid on NVIDIA H200: 1 to 255");
  refused(128, 32, 232449, "shared = 232449; valid on NVIDIA H200: 0 to 232448");
  refused(128, 32, huge, "valid on NVIDIA H200: 0 to 232448");
  refused(128, 32, -1, "shared = -1;");
  expect_error(ErrorCode::usage, "device = cpu; occupancy is of CUDA devices", [] { (void)of("cpu"); });
}

}  // namespace
}  // namespace tapconv
