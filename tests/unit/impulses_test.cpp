#include "workbench/impulses.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "all_outputs.hpp"
#include "problem_matrix.hpp"
#include "random_problem.hpp"
#include "workbench/exact_operands.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

std::vector<OracleOutput> outputs_of(const Problem& problem, const HostTensors& tensors) {
  return oracle(problem, tensors.operands(), testing::all_outputs(problem),
                operand_rounding(problem.contract, problem.tie_rule));
}

TEST(Impulses, LeaveEveryOutputOneProductAtMost) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e5);
    SCOPED_TRACE(spell(problem));
    for (const std::int64_t first : impulse_passes(problem, 6)) {
      for (const OracleOutput& output : outputs_of(problem, weight_impulses(problem, first).tensors)) {
        // Of a depthwise separable problem the two halves' numbers are added.
        ASSERT_LE(output.products, problem.kind == Kind::depthwise_separable ? 2 : 1);
        ASSERT_EQ(std::floor(output.sum), output.sum);
        ASSERT_EQ(output.sum, round_to(output.sum, problem.out_dtype)) << "codes are exact outputs";
        ASSERT_TRUE(has_exact_sum(problem, output) || output.magnitude > 0x1p21);
      }
    }
  }
}

/// Every weight is a one somewhere, if there may be enough passes.
TEST(Impulses, PassesMeetEveryTapOfEveryChannel) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Problem problem = testing::any_random_problem(seed, 1e5);
    SCOPED_TRACE(spell(problem));
    const Problem part = stages(problem).front();
    const std::int64_t inner = part.in_channels / part.groups * part.kernel[0] * part.kernel[1] * part.kernel[2];
    const std::int64_t filters = part.out_channels;
    std::vector<bool> met(static_cast<std::size_t>(inner), false);
    const std::set<std::int64_t> passes = impulse_passes(problem, 1000000);
    for (const std::int64_t first : passes)
      for (std::int64_t filter = 0; filter < filters; ++filter)
        met[static_cast<std::size_t>((first + filter) % inner)] = true;
    EXPECT_EQ(0, std::ranges::count(met, false)) << passes.size() << " passes";
    const std::set<std::int64_t> few = impulse_passes(problem, 2);
    EXPECT_LE(few.size(), 2u);
    EXPECT_TRUE(few.contains(0));
    EXPECT_EQ(std::max<std::int64_t>(inner - filters, 0), *few.rbegin());
  }
}

TEST(Impulses, InputsAreOneAnImageAndGroup) {
  const Problem problem = parse_problem("Conv2d(6, 4, 3, groups=2) @ 3x6x5x5");
  const HostTensors tensors = input_impulses(problem, 4).tensors;
  double sum = 0;
  for (std::int64_t i = 0; i < element_count(input_shape(problem)); ++i)
    sum += load_element(tensors.input.data(), DType::float32, i);
  EXPECT_EQ(3 * 2, sum);
  EXPECT_NE(tensors.input, input_impulses(problem, 5).tensors.input);
}

TEST(Impulses, AWrongTapIsNamed) {
  // Output channel 1 has tap 1, (0, 1), of channel 0; what it should read is the input one to the right.
  const Problem problem = parse_problem("Conv2d(2, 4, (2, 3), bias=False) @ 1x2x5x6");
  const std::vector<std::int64_t> place{0, 1, 2, 3};
  const HostTensors tensors = weight_impulses(problem, 0).tensors;
  const auto code = [&](std::int64_t index) { return load_element(tensors.input.data(), DType::float32, index); };
  constexpr std::int64_t read = 2 * 6 + 3 + 1;
  const double expected = code(read), below = code(read + 6), channel = code(read + 30);
  EXPECT_EQ("channel 0, tap (0, 1) of the weights of output channel 1 alone is set, and output (0, 1, 2, 3) is " +
                std::to_string(static_cast<int>(below)) + ", which channel 0, tap (1, 1) reads",
            name_wrong_impulse(problem, 0, place, below, expected));
  EXPECT_TRUE(name_wrong_impulse(problem, 0, place, channel, expected).ends_with("which channel 1, tap (0, 1) reads"));
  EXPECT_TRUE(name_wrong_impulse(problem, 0, place, 0, expected).ends_with("the tap or the channel is skipped"));
  EXPECT_TRUE(
      name_wrong_impulse(problem, 0, place, -1, expected).ends_with(fmt::format("is -1 where {} is read", expected)));
}

}  // namespace
}  // namespace tapconv
