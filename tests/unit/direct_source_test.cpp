#include <gtest/gtest.h>

#include <regex>

#include "cuda/compiler.hpp"
#include "h200.hpp"
#include "plan/planner.hpp"
#include "random_problem.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using testing::h200;

bool compiler_present() {
  try {
    return !cuda::compiler_version().empty();
  } catch (const Error&) {
    return false;
  }
}

/// Compiles a kernel and checks that it needs no local memory and can be launched.
void expect_clean_kernel(const KernelPlan& plan, const Task& task, const std::string& architecture) {
  const std::string log = cuda::compile(plan.source, architecture).log;
  std::smatch match;
  ASSERT_TRUE(std::regex_search(log, match, std::regex("(\\d+) bytes stack frame, (\\d+) bytes spill stores"))) << log;
  EXPECT_EQ("0", match[1].str()) << log;
  EXPECT_EQ("0", match[2].str()) << log;
  ASSERT_TRUE(std::regex_search(log, match, std::regex("Used (\\d+) registers"))) << log;
  const cuda::KernelFacts facts{
      .registers = std::stoi(match[1]), .local_bytes = 0, .static_shared_bytes = 0, .max_threads_per_block = 1024};
  EXPECT_EQ("", cuda::launch_problem(plan.launch(sizes_of(task.problem)), facts, h200()));
  EXPECT_EQ(log.find("warning"), std::string::npos) << log;
}

void expect_clean_kernel(const Problem& problem, const std::string& architecture) {
  SCOPED_TRACE(spell(problem) + " for sm_" + architecture);
  const DeviceModel device = device_model(h200());
  for (const Task& task : tasks_of(problem)) {
    const Choice choice = choose(task, device);
    expect_clean_kernel(choice.solver->plan(task, choice.candidate.configuration, device), task, architecture);
  }
}

TEST(DirectSource, PublishedProblemsCompileWithoutSpills) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  for (const PublishedProblem& published : published_problems()) expect_clean_kernel(published.problem, "90a");
}

TEST(DirectSource, RandomProblemsCompileWithoutSpills) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  for (unsigned seed = 0; seed < 12; ++seed)
    expect_clean_kernel(testing::random_problem(seed), seed % 2 ? "80" : "90a");
}

TEST(DirectSource, FiltersLargerThanSharedMemoryAndHugeTensorsCompile) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  expect_clean_kernel(parse_problem("Conv2d(3, 20, 31, padding=15) @ 1x3x64x64"), "90a");
  expect_clean_kernel(parse_problem("Conv1d(1, 1, 3, padding=1) @ 2x1x3000000000"), "90a");
  expect_clean_kernel(parse_problem("Conv1d(4, 4, 2, dilation=2000000000) @ 1x4x2100000000"), "90a");
  expect_clean_kernel(parse_problem("Conv1d(1, 1, 1, padding=1152921504606846975, stride=1152921504606846976) @ 1x1x1"),
                      "90a");
  // More blocks than one row of the grid holds.
  expect_clean_kernel(parse_problem("Conv1d(2147483649, 2147483649, 1, groups=2147483649) @ 1x2147483649x1"), "90a");
}

TEST(DirectSource, IsOneIncludeAndOneInstantiation) {
  const Problem problem = parse_problem("Conv2d(64, 128, (5,7), bias=False, math=tf32) @ 8x64x512x256");
  const Task task = tasks_of(problem).front();
  const DeviceModel device = device_model(h200());
  const Choice choice = choose(task, device);
  const std::string text = choice.solver->plan(task, choice.candidate.configuration, device).source.text;
  EXPECT_TRUE(text.starts_with("#include \"tapconv/direct.cuh\"\n"));
  EXPECT_NE(text.find("Rounding::tf32_rna"), std::string::npos);
  EXPECT_NE(text.find("tapconv::Direct<tapconv::Config>::run(arguments);"), std::string::npos);
}

TEST(Compiler, ReportsTheFailingLine) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  try {
    (void)cuda::compile({.text = "extern \"C\" __global__ void broken() { int x = \"no\"; }\n", .entry = "broken"},
                        "90a");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::compile, error.code());
    EXPECT_NE(std::string(error.what()).find("broken.cu(1)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tapconv
