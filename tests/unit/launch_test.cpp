#include <gtest/gtest.h>

#include "cuda/compiler.hpp"
#include "cuda/driver.hpp"
#include "h200.hpp"

namespace tapconv::cuda {
namespace {

const DeviceFacts device = testing::h200();
const KernelFacts kernel{.registers = 64, .local_bytes = 0, .static_shared_bytes = 1024, .max_threads_per_block = 512};

TEST(LaunchProblem, AcceptsWhatIsLegal) {
  EXPECT_EQ("",
            launch_problem({.grid = {2147483647, 65535, 65535}, .block = {512, 1, 1}, .dynamic_shared_bytes = 231424},
                           kernel, device));
}

TEST(LaunchProblem, NamesTheLimitTheValueAndTheDevice) {
  const auto of = [&](LaunchShape shape) { return launch_problem(shape, kernel, device); };
  EXPECT_EQ("grid.y = 65536; valid on NVIDIA H200: 1 to 65535", of({.grid = {1, 65536, 1}, .block = {32, 1, 1}}));
  EXPECT_EQ("grid.x = 2147483648; valid on NVIDIA H200: 1 to 2147483647",
            of({.grid = {2147483648, 1, 1}, .block = {32, 1, 1}}));
  EXPECT_EQ("grid.z = 0; valid on NVIDIA H200: 1 to 65535", of({.grid = {1, 1, 0}, .block = {32, 1, 1}}));
  EXPECT_EQ("block.y = 0; valid: at least 1", of({.grid = {1, 1, 1}, .block = {32, 0, 1}}));
  EXPECT_EQ("block has 2048 threads; valid on NVIDIA H200: at most 1024",
            of({.grid = {1, 1, 1}, .block = {64, 32, 1}}));
  EXPECT_EQ("block has 1024 threads; the kernel was compiled for at most 512",
            of({.grid = {1, 1, 1}, .block = {1024, 1, 1}}));
  EXPECT_EQ("shared memory: 231425 bytes dynamic and 1024 static; valid on NVIDIA H200: at most 232448 in all",
            of({.grid = {1, 1, 1}, .block = {32, 1, 1}, .dynamic_shared_bytes = 231425}));
  EXPECT_EQ("grid.x = 6; valid: a multiple of the 4 blocks of a cluster",
            of({.grid = {6, 1, 1}, .block = {32, 1, 1}, .cluster = 4}));
  KernelFacts wide = kernel;
  wide.registers = 129;
  EXPECT_EQ("512 threads of 129 registers need 69632; a block on NVIDIA H200 has 65536",
            launch_problem({.grid = {1, 1, 1}, .block = {512, 1, 1}}, wide, device));
}

TEST(Architecture, HasTheSuffixFromHopperOn) {
  const auto of = [](int major, int minor) {
    DeviceFacts facts = device;
    facts.compute_major = major;
    facts.compute_minor = minor;
    return architecture(facts);
  };
  EXPECT_EQ("80", of(8, 0));
  EXPECT_EQ("89", of(8, 9));
  EXPECT_EQ("90a", of(9, 0));
  EXPECT_EQ("100a", of(10, 0));
  EXPECT_EQ("120a", of(12, 0));
}

}  // namespace
}  // namespace tapconv::cuda
