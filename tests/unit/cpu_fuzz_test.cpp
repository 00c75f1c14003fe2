#include <gtest/gtest.h>

#include "cpu_tensors.hpp"
#include "random_problem.hpp"
#include "special_numbers.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {
namespace {

using testing::CpuTensors;
using testing::draw_tensors;
using testing::Fill;
using testing::infinity;
using testing::keeps_contract;
using testing::nan;
using testing::set_value;
using testing::size_of;

/// The problem with number `seed` of those that the CPU engine takes: float64 is the oracle's.
Problem cpu_problem(std::uint64_t seed, double max_flop = 1e5) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const Problem problem = testing::any_random_problem(seed + (attempt << 32), max_flop);
    if (problem.dtype != DType::float64) return problem;
  }
}

/// Mostly one: on a busy machine a second one that spins takes longest of all.
int threads(std::uint64_t seed) { return seed % 8 == 0 ? 2 : 1; }

TEST(CpuFuzz, FiveHundredProblemsKeepTheirContracts) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = cpu_problem(seed);
    cpu::Convolution convolution(problem, threads(seed));
    for (const Fill fill : {Fill::uniform, Fill::sparse, Fill::subnormal}) {
      const CpuTensors tensors = draw_tensors(problem, seed, fill);
      convolution.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors)))
          << "fill " << static_cast<int>(fill) << ", by " << convolution.implementation();
    }
  }
}

TEST(CpuFuzz, SpecialValuesSpreadAsTheyShould) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = cpu_problem(seed);
    const DType dtype = problem.dtype;
    cpu::Convolution convolution(problem, threads(seed));
    CpuTensors tensors = draw_tensors(problem, seed);
    const std::size_t inputs = size_of(tensors.input, dtype);
    set_value(tensors.input, dtype, inputs - 1, -infinity);
    set_value(tensors.input, dtype, inputs / 3, infinity);
    set_value(tensors.input, dtype, inputs / 2, nan);
    convolution.set_weights(tensors.weights());
    EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors))) << "inputs";

    tensors = draw_tensors(problem, seed);
    const std::size_t weights = size_of(tensors.weight, dtype);
    for (const double special : {-infinity, nan}) {
      set_value(tensors.weight, dtype, seed % weights, special);
      convolution.set_weights(tensors.weights());
      EXPECT_TRUE(keeps_contract(problem, tensors, run_guarded(convolution, problem, tensors)))
          << "weight " << special << " by " << convolution.implementation();
    }
  }
}

TEST(CpuFuzz, AnActivationsOwnErrorIsNoAlarm) {
  for (const char* text : {"Conv2d(3, 16, 1, activation=gelu) @ 1x3x16x16",
                           "Conv1d(16, 16, 3, padding=1, groups=16, activation=gelu) @ 4x16x64",
                           "Conv2d(64, 64, 3, padding=1, groups=64, activation=silu) @ 1x64x28x28",
                           "Conv2d(8, 8, 3, groups=8, activation=gelu_tanh) @ 1x8x16x16"}) {
    CheckRequest request;
    request.problem = parse_problem(text);
    request.device = {.kind = Device::Kind::cpu, .index = 0};
    EXPECT_TRUE(check(request).passed) << text;
  }
}

/// Shards, for ctest to run side by side.
class CpuCheck : public ::testing::TestWithParam<unsigned> {};

TEST_P(CpuCheck, RaisesNoFalseAlarm) {
  constexpr unsigned each = 30;
  const std::uint64_t first = 500 + each * GetParam();
  // Every second one is tiny, where chance could decide.
  for (std::uint64_t seed = first; seed < first + each; ++seed) {
    SCOPED_TRACE(seed);
    CheckRequest request;
    request.problem = cpu_problem(seed, seed % 2 != 0 ? 1e5 : 2e3);
    request.device = {.kind = Device::Kind::cpu, .index = 0};
    request.tensors.seed = seed;
    request.secret_seed = seed;
    const CheckReport report = check(request);
    EXPECT_TRUE(report.passed) << report.sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(Shards, CpuCheck, ::testing::Range(0u, 4u));

}  // namespace
}  // namespace tapconv
