#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <limits>
#include <mutex>

#include "compiled_kernel.hpp"
#include "plan/planner.hpp"
#include "problem/parallel.hpp"
#include "problem/text.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

using testing::compiler_present;

/// One kernel to compile, and what it is launched with.
struct Job {
  std::string about;
  cuda::KernelSource source;
  cuda::LaunchShape launch;
  cuda::DeviceFacts device;
};

void add_plan(std::vector<Job>& jobs, const std::string& about, const KernelPlan& plan, const Task& task,
              const cuda::DeviceFacts& device) {
  jobs.push_back({.about = about,
                  .source = plan.source,
                  .launch = plan.launch(sizes_of(task.problem, task.strided)),
                  .device = device});
  if (plan.packing)
    jobs.push_back({.about = about + ", packing",
                    .source = plan.packing->source,
                    .launch = plan.packing->launch,
                    .device = device});
}

std::string describe(const Task& task, const cuda::DeviceFacts& device) {
  return fmt::format("{}{}{}{} on {}", spell(task.problem), task.strided ? ", strided" : "",
                     task.packed ? ", packed" : "", task.wide ? ", wide" : "", device.name);
}

/// Adds what every solver that takes the task makes of it: its best `most` configurations.
void add_task(std::vector<Job>& jobs, const Task& task, const cuda::DeviceFacts& device, std::size_t most = 1) {
  const DeviceModel model = device_model(device);
  for (const Solver* solver : solvers()) {
    if (!solver->supports(task, model).ok) continue;
    const std::vector<Candidate> candidates = solver->candidates(task, model);
    for (std::size_t i = 0; i < std::min(most, candidates.size()); ++i) {
      const std::string& configuration = candidates[i].configuration;
      add_plan(jobs, fmt::format("{} {}: {}", solver->name(), configuration, describe(task, device)),
               solver->plan(task, configuration, model), task, device);
    }
  }
  if (const auto plan = unreached_plan(task, model))
    add_plan(jobs, "unreached: " + describe(task, device), *plan, task, device);
}

/// Time that the calling thread has had of a processor, whatever else the computer does.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Compiles all of them on all cores: without spills, warnings, or more than the launch may have.
void expect_clean(const std::vector<Job>& jobs) {
  constexpr double longest = 5;  // seconds: three times what the slowest took when this was written
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  double worst = 0, sum = 0;
  std::string worst_about;
  parallel_for(std::thread::hardware_concurrency(), [&](std::int64_t, std::int64_t) {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      const Job& job = jobs[i];
      std::string problem;
      double seconds = 0;
      try {
        const double start = thread_seconds();
        const cuda::Compiled compiled = cuda::compile(job.source, cuda::architecture(job.device));
        seconds = thread_seconds() - start;
        problem = testing::kernel_problem(compiled, job.launch, job.device);
      } catch (const std::exception& error) {
        problem = error.what();
      }
      const std::lock_guard lock(mutex);
      EXPECT_EQ("", problem) << job.about;
      EXPECT_LT(seconds, longest) << job.about;
      sum += seconds;
      if (seconds > worst) worst_about = job.about;
      worst = std::max(worst, seconds);
    }
  });
  std::cout << fmt::format("{} kernels, {:.2f} s each; the slowest {:.2f} s: {}\n", jobs.size(),
                           sum / static_cast<double>(jobs.size()), worst, worst_about);
}

TEST(KernelsCompile, OfPublishedProblems) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  std::vector<Job> jobs;
  for (const PublishedProblem& published : published_problems()) {
    for (Task task : tasks_of(published.problem)) {
      task.packed = true;
      add_task(jobs, task, testing::h200());
    }
  }
  EXPECT_GE(jobs.size(), 2 * published_problems().size());
  expect_clean(jobs);
}

/// Shards, for ctest to run side by side.
class FuzzedKernelsCompile : public ::testing::TestWithParam<unsigned> {};

TEST_P(FuzzedKernelsCompile, OnEveryArchitectureInTurn) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  const auto devices = testing::device_of_each_architecture();
  constexpr unsigned each = 25;
  std::vector<Job> jobs;
  for (unsigned seed = GetParam() * each; seed < (GetParam() + 1) * each; ++seed) {
    for (Task task : tasks_of(testing::any_random_problem(seed))) {
      task.strided = seed % 3 == 1;
      task.packed = seed % 2 == 1;
      task.wide = task.wide || seed % 7 == 3;
      add_task(jobs, task, devices[seed % devices.size()]);
    }
  }
  expect_clean(jobs);
}

INSTANTIATE_TEST_SUITE_P(Shards, FuzzedKernelsCompile, ::testing::Range(0u, 4u));

TEST(KernelsCompile, InEveryConfiguration) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  std::vector<Job> jobs;
  for (const char* text : {
           "Conv2d(64, 16, (5,7), bias=False) @ 8x64x512x256",
           "ConvTranspose3d(16, 4, (3,4,15), stride=(2,3,2), activation=gelu, residual=True) @ 2x16x9x10x11?",
           "Conv2d(32, 48, 3, padding=1, padding_mode=reflect, dtype=float16, layout=channels_last, residual=True) @ "
           "2?x32x20x20",
           // Sums in parts, of one block and of a cluster's.
           "Conv2d(256, 256, 3, padding=1) @ 8x256x14x14",
           "Conv2d(128, 128, 3, padding=1, math=tf32) @ 1x128x28x28",
       })
    for (const Task& task : tasks_of(parse_problem(text)))
      add_task(jobs, task, testing::h200(), std::numeric_limits<std::size_t>::max());
  expect_clean(jobs);
}

TEST(KernelsCompile, OfFiltersLargerThanSharedMemoryAndHugeTensors) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  std::vector<Job> jobs;
  for (const char* text : {
           "Conv2d(3, 20, 31, padding=15) @ 1x3x64x64",
           "Conv1d(1, 1, 3, padding=1) @ 2x1x3000000000",
           "Conv1d(4, 4, 2, dilation=2000000000) @ 1x4x2100000000",
           "Conv1d(1, 1, 1, padding=1152921504606846975, stride=1152921504606846976) @ 1x1x1",
           // More blocks than one row of the grid holds.
           "Conv1d(2147483649, 2147483649, 1, groups=2147483649) @ 1x2147483649x1",
       })
    for (const Task& task : tasks_of(parse_problem(text))) add_task(jobs, task, testing::h200());
  expect_clean(jobs);
}

TEST(KernelsCompile, NotWhatSpillsOrWarnsOrExceedsTheDevice) {
  if (!compiler_present()) GTEST_SKIP() << "NVRTC is not installed";
  const auto problem = [](const std::string& body, const std::string& bounds, int threads) {
    const cuda::KernelSource source{.text = "extern \"C\" __global__ void __launch_bounds__(" + bounds +
                                            ") kernel(float* data) {\n" + body + "\n}\n",
                                    .entry = "kernel"};
    return testing::kernel_problem(cuda::compile(source, "90a"),
                                   {.grid = {1, 1, 1}, .block = {threads, 1, 1}, .dynamic_shared_bytes = 0},
                                   testing::h200());
  };
  EXPECT_EQ("", problem("data[threadIdx.x] = 1;", "128", 128));
  EXPECT_NE(problem("volatile float at[64]; at[threadIdx.x & 63] = 1; data[0] = at[threadIdx.y & 63];", "128", 128)
                .find("local memory"),
            std::string::npos);
  EXPECT_NE(problem("int unused;", "128", 128).find("warnings"), std::string::npos);
  EXPECT_NE(problem("data[threadIdx.x] = 1;", "128", 2048).find("2048 threads"), std::string::npos);
  cuda::DeviceFacts small = testing::h200();
  small.shared_per_block_opt_in = 1024;
  const cuda::KernelSource shared{
      .text =
          "extern \"C\" __global__ void kernel(float* data) {\n  __shared__ float at[1024];\n  at[threadIdx.x] = "
          "data[threadIdx.x];\n  __syncthreads();\n  data[threadIdx.x] = at[threadIdx.x ^ 1];\n}\n",
      .entry = "kernel"};
  EXPECT_NE(testing::kernel_problem(cuda::compile(shared, "90a"), {}, small).find("4096 static"), std::string::npos);
}

TEST(KernelSource, IsOneIncludeAndOneInstantiation) {
  const Problem problem = parse_problem("Conv2d(64, 128, (5,7), bias=False, math=tf32) @ 8x64x512x256");
  const Task task = tasks_of(problem).front();
  const DeviceModel device = device_model(testing::h200());
  const Choice choice = choose(task, device);
  const std::string text = choice.solver->plan(task, choice.candidate.configuration, device).source.text;
  EXPECT_TRUE(text.starts_with("#include \"tapconv/warpgroup.cuh\"\n"));
  EXPECT_NE(text.find("Rounding::tf32_rna"), std::string::npos);
  EXPECT_NE(text.find("tapconv::Warpgroup<tapconv::Config>::run(arguments);"), std::string::npos);
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
