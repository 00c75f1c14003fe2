#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "cuda/compiler.hpp"
#include "cuda/cubin_cache.hpp"
#include "h200.hpp"
#include "plan/planner.hpp"
#include "problem/log.hpp"
#include "problem/parallel.hpp"
#include "tapconv/problem.hpp"
#include "temporary_folder.hpp"

namespace tapconv::cuda {
namespace {

class CompiledTest : public testing::TemporaryFolder {
 protected:
  void SetUp() override {
    TemporaryFolder::SetUp();
    try {
      (void)compiler_version();
    } catch (const Error&) {
      GTEST_SKIP() << "NVRTC is not installed";
    }
  }

  [[nodiscard]] CacheSettings settings() const {
    CacheSettings result;
    result.written = path("cache");
    return result;
  }

  static KernelSource direct_source(const std::string& problem_text) {
    const Problem problem = parse_problem(problem_text);
    const Task task = tasks_of(problem).front();
    const DeviceModel device = device_model(testing::h200());
    const Solver& direct = *solvers().back();  // compiles for any architecture
    return direct.plan(task, direct.candidates(task, device).front().configuration, device).source;
  }
};

KernelSource small_source(const std::string& entry) {
  return {.text = "extern \"C\" __global__ void " + entry + "(float* x) { *x = 1; }\n", .entry = entry};
}

TEST_F(CompiledTest, IsTheSameFromTheDisk) {
  const KernelSource source = direct_source("Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256");
  CubinCache cold(settings());
  const Compiled first = compiled(cold, source, "90a");
  EXPECT_FALSE(first.from_cache);
  CubinCache warm(settings());
  const Compiled second = compiled(warm, source, "90a");
  EXPECT_TRUE(second.from_cache);
  EXPECT_EQ(first.image, second.image);
  EXPECT_EQ(first.log, second.log);
  EXPECT_FALSE(compiled(warm, source, "80").from_cache);
  EXPECT_EQ(compile(source, "90a").image, first.image);
}

TEST_F(CompiledTest, AHitIsFast) {
  const KernelSource source = direct_source("Conv2d(64, 128, (5, 7), bias=False) @ 8x64x512x256");
  CubinCache cache(settings());
  const Compiled cold = compiled(cache, source, "90a");
  double least = 1;
  for (int i = 0; i < 20; ++i) least = std::min(least, compiled(cache, source, "90a").seconds);
  tapconv::log(LogLevel::debug, "direct kernel, {} bytes: compiled in {:.3f} s, found in {:.6f} s", cold.image.size(),
               cold.seconds, least);
  // Seconds depend on the machine and on sanitizers; bench/jit_times.py measures them.
  EXPECT_LT(least, cold.seconds / 20);
}

TEST_F(CompiledTest, ThreadsCompileDifferentKernelsAndShareEqualOnes) {
  CubinCache cache(settings());
  std::atomic<int> fresh = 0;
  parallel_for(8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      for (const char* entry : {"first", "second"})
        if (!compiled(cache, small_source(entry), "90a").from_cache) ++fresh;
    }
  });
  // Who waits for an attempt gets what it made.
  EXPECT_GE(fresh, 2);
  EXPECT_EQ(2U, CubinFolder(path("cache")).entries().size());
}

TEST_F(CompiledTest, WhatDoesNotCompileIsNotKeptAndSaysWhy) {
  CubinCache cache(settings());
  const KernelSource broken{.text = "extern \"C\" __global__ void broken() { nonsense }\n", .entry = "broken"};
  for (int time = 0; time < 2; ++time)
    testing::expect_error(ErrorCode::compile, "nonsense", [&] { (void)compiled(cache, broken, "90a"); });
  EXPECT_TRUE(CubinFolder(path("cache")).entries().empty());
}

// A header that the key does not cover must not reach the compiler.
TEST_F(CompiledTest, AHeaderThatIsIncludedInAnotherWayIsNotFound) {
  const KernelSource source{.text =
                                "#define HEADER \"tapconv/shared.cuh\"\n#include HEADER\n"
                                "extern \"C\" __global__ void k() {}\n",
                            .entry = "k"};
  testing::expect_error(ErrorCode::compile, "shared.cuh", [&] { (void)compile(source, "90a"); });
}

TEST_F(CompiledTest, AFileOfTheWorkingFolderIsNotFound) {
  put("nearby.cuh", "#define NEARBY 1\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(path(""));
  const KernelSource source{.text = "#include \"nearby.cuh\"\nextern \"C\" __global__ void k() {}\n", .entry = "k"};
  EXPECT_THROW((void)compile(source, "90a"), Error);
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace tapconv::cuda
