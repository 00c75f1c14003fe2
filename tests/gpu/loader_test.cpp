#include <gtest/gtest.h>

#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "cuda/compiler.hpp"
#include "gpu_test.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda {
namespace {

class LoaderTest : public testing::GpuTest {};

/// A kernel of this name that no other test has; `tag` makes it another one.
KernelSource source(const std::string& entry, int tag) {
  return {.text = "extern \"C\" __global__ void " + entry +
                  "(const __grid_constant__ int value) { if (value == " + std::to_string(tag) + ") __trap(); }\n",
          .entry = entry};
}

TEST_F(LoaderTest, ThreadsThatAskForOneKernelGetTheSame) {
  const Context& context = Context::get(0);
  constexpr int threads = 8;
  std::vector<const Kernel*> kernels(threads);
  {
    std::latch start(threads);
    std::vector<std::jthread> workers;
    for (int i = 0; i < threads; ++i)
      workers.emplace_back([&, i] {
        start.arrive_and_wait();
        kernels[static_cast<std::size_t>(i)] = load(context, source("shared_kernel", 1));
      });
  }
  for (const Kernel* kernel : kernels) EXPECT_EQ(kernels[0], kernel);
  EXPECT_NE(kernels[0], load(context, source("shared_kernel", 2)));
  EXPECT_NE(kernels[0], load(context, source("other_kernel", 1)));
}

TEST_F(LoaderTest, AllAreLoadedInTheirOrder) {
  const Context& context = Context::get(0);
  std::vector<KernelSource> sources;
  for (int i = 0; i < 6; ++i) sources.push_back(source("kernel" + std::to_string(i % 3), 10 + i % 3));
  const std::vector<const Kernel*> kernels = load_all(context, sources);
  ASSERT_EQ(sources.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(load(context, sources[i]), kernels[i]);
    EXPECT_EQ(kernels[i % 3], kernels[i]);
    EXPECT_GT(kernels[i]->facts().max_threads_per_block, 0);
  }
  EXPECT_NE(kernels[0], kernels[1]);
  EXPECT_TRUE(load_all(context, {}).empty());
}

TEST_F(LoaderTest, AFailureIsThrownAndDoesNotStay) {
  const Context& context = Context::get(0);
  const KernelSource broken{.text = "extern \"C\" __global__ void broken() { nonsense }\n", .entry = "broken"};
  const std::vector<KernelSource> sources = {source("good0", 20), broken, source("good1", 21)};
  for (int time = 0; time < 2; ++time) {
    try {
      (void)load_all(context, sources);
      FAIL() << "loaded";
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::compile, error.code());
      EXPECT_NE(std::string(error.what()).find("nonsense"), std::string::npos);
    }
  }
  EXPECT_NE(nullptr, load(context, sources[2]));
}

}  // namespace
}  // namespace tapconv::cuda
