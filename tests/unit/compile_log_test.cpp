#include "cuda/compile_log.hpp"

#include <gtest/gtest.h>

#include "cuda/compiler.hpp"
#include "cuda/inlined.hpp"
#include "plan/planner.hpp"
#include "temporary_folder.hpp"

namespace tapconv::cuda {
namespace {

using tapconv::testing::expect_error;

constexpr const char* log =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'tapconv_direct' for 'sm_90a'\n"
    "ptxas info    : Function properties for tapconv_direct\n"
    "    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size, 16384 bytes smem\n";

TEST(CompileLog, SaysWhatAKernelNeeds) {
  const KernelFacts facts = facts_of_log(log, 1024, 65536);
  EXPECT_EQ(168, facts.registers);
  EXPECT_EQ(16, facts.local_bytes);
  EXPECT_EQ(16384, facts.static_shared_bytes);
  EXPECT_EQ(384, facts.max_threads_per_block);  // 12 warps of 168 registers a thread
}

TEST(CompileLog, WithoutSharedMemoryThereIsNone) {
  const KernelFacts facts = facts_of_log(
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\nptxas info    : Used 12 registers\n", 1024,
      65536);
  EXPECT_EQ(0, facts.static_shared_bytes);
  EXPECT_EQ(1024, facts.max_threads_per_block);
}

TEST(CompileLog, OtherLinesMaySpeakOfRegisters) {
  const std::string noted = std::string("ptxas info    : (C7519) warpgroup.arrive is injected in around line 679 by ") +
                            "compiler to allow use of registers in GMMA in function 'tapconv_direct'\n" + log;
  EXPECT_EQ(168, facts_of_log(noted, 1024, 65536).registers);
}

TEST(CompileLog, OtherOutputsAreRefused) {
  for (const char* text : {"", "Used many registers, 0 bytes stack frame", "Used 12 registers", "0 bytes stack frame",
                           "Used 99999999999999999999 registers, 0 bytes stack frame"})
    expect_error(ErrorCode::compile, "does not say", [&] { (void)facts_of_log(text, 1024, 65536); });
}

/// The kernels of a problem that has two stages, and of one with outputs that no tap reaches.
std::vector<KernelSource> sources() {
  std::vector<KernelSource> all;
  const DeviceModel& device = known_device("a100");
  for (const char* spelling :
       {"DepthwiseSeparable2d(8, 16, 3) @ 1x8x9x9", "ConvTranspose1d(3, 4, 2, stride=3) @ 2x3x9"}) {
    for (const Task& task : tasks_of(parse_problem(spelling))) {
      for (const KernelPlan& kernel : kernels_of(task, choose(task, device), device)) all.push_back(kernel.source);
    }
  }
  return all;
}

TEST(Inlined, CompilesAloneToTheSameKernel) {
  try {
    (void)compiler_version();
  } catch (const Error&) {
    GTEST_SKIP() << "NVRTC is not installed";
  }
  ASSERT_EQ(4u, sources().size());
  for (const KernelSource& source : sources()) {
    const std::string text = inlined(source.text);
    EXPECT_EQ(std::string::npos, text.find("#include"));
    EXPECT_EQ(std::string::npos, text.find("#pragma once"));
    const KernelFacts ours = facts_of_log(compile(source, "80").log, 1024, 65536);
    const KernelFacts alone = facts_of_log(compile({.text = text, .entry = source.entry}, "80").log, 1024, 65536);
    EXPECT_EQ(ours.registers, alone.registers);
    EXPECT_EQ(ours.static_shared_bytes, alone.static_shared_bytes);
    EXPECT_EQ(0, ours.local_bytes);
  }
}

TEST(Inlined, WritesAHeaderOutOnce) {
  const std::string twice = "#include \"tapconv/ptx.cuh\"\n#include \"tapconv/ptx.cuh\"\nint x;\n";
  const std::string once = "#include \"tapconv/ptx.cuh\"\nint x;\n";
  EXPECT_EQ(inlined(once), inlined(twice));
  EXPECT_TRUE(inlined(once).ends_with("int x;\n"));
  expect_error(ErrorCode::internal, "tapconv/none.cuh", [] { (void)inlined("#include \"tapconv/none.cuh\"\n"); });
}

}  // namespace
}  // namespace tapconv::cuda
