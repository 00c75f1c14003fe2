#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "broken_result.hpp"
#include "random_problem.hpp"
#include "workbench/diagnosis.hpp"

namespace tapconv {
namespace {

using testing::BrokenResult;
using testing::DefinitionOperands;
using testing::Grid;
using testing::StoredOperands;

/// Honest ways to add the products of an output in binary32.
enum class Order { forward, backward, shuffled, pairwise, blocked, fp64, truncated_blocks };
constexpr std::array all_orders{Order::forward, Order::backward, Order::shuffled,        Order::pairwise,
                                Order::blocked, Order::fp64,     Order::truncated_blocks};

float sum_pairwise(std::span<const float> terms) {
  if (terms.size() == 1) return terms[0];
  const std::size_t half = terms.size() / 2;
  return sum_pairwise(terms.first(half)) + sum_pairwise(terms.subspan(half));
}

float truncated(double value) {
  auto near = static_cast<float>(value);
  return std::abs(static_cast<double>(near)) > std::abs(value) ? std::nextafter(near, 0.0f) : near;
}

/// Products of 16-bit or TF32 operands are exact in binary32; those of others are rounded once each.
float sum(std::vector<float> terms, Order order, std::uint64_t seed) {
  if (terms.empty()) return 0;
  switch (order) {
    case Order::forward:
      break;
    case Order::backward:
      std::ranges::reverse(terms);
      break;
    case Order::shuffled: {
      std::mt19937_64 random(seed);
      std::ranges::shuffle(terms, random);
      break;
    }
    case Order::pairwise:
      return sum_pairwise(terms);
    case Order::blocked: {
      float total = 0;
      for (std::size_t begin = 0; begin < terms.size(); begin += 8) {
        float part = 0;
        for (std::size_t i = begin; i < std::min(begin + 8, terms.size()); ++i) part += terms[i];
        total += part;
      }
      return total;
    }
    case Order::fp64: {
      double total = 0;
      for (const float term : terms) total += term;
      return static_cast<float>(total);
    }
    case Order::truncated_blocks: {
      // As a tensor core does: short truncated sums, added in binary32.
      float total = 0;
      for (std::size_t begin = 0; begin < terms.size(); begin += 8) {
        float part = 0;
        for (std::size_t i = begin; i < std::min(begin + 8, terms.size()); ++i)
          part = truncated(static_cast<double>(part) + terms[i]);
        total += part;
      }
      return total;
    }
  }
  float total = 0;
  for (const float term : terms) total += term;
  return total;
}

/// The problem computed honestly on its operands.
Grid honest(const Problem& p, const DefinitionOperands& o, Order order, std::uint64_t seed) {
  const OperandRounding rounding = operand_rounding(p.contract, p.tie_rule);
  const auto rounded = [&](double v) { return static_cast<double>(round_operand(static_cast<float>(v), rounding)); };
  Grid input = p.kind == Kind::transposed ? o.input : testing::pad(o.input, p);
  Grid weight = o.weight, y(output_shape(p));
  std::vector<std::vector<float>> terms(y.values.size());
  const std::int64_t in = p.in_channels / p.groups, out = p.out_channels / p.groups;
  std::size_t output = 0;
  testing::for_each_index(y.shape, [&](const std::vector<std::int64_t>& at) {
    std::vector<std::int64_t> box{in};
    for (int axis = 0; axis < p.rank; ++axis) box.push_back(p.kernel[axis]);
    testing::for_each_index(box, [&](const std::vector<std::int64_t>& t) {
      const std::int64_t channel = at[1] / out * in + t[0];
      std::vector<std::int64_t> from{at[0], channel}, filter{at[1], t[0]};
      if (p.kind == Kind::transposed) filter = {channel, at[1] % out};
      for (int axis = 0; axis < p.rank; ++axis) {
        const std::size_t a = static_cast<std::size_t>(axis);
        filter.push_back(t[a + 1]);
        if (p.kind == Kind::transposed) {
          const std::int64_t far = at[a + 2] + p.padding_lo[axis] - t[a + 1] * p.dilation[axis];
          if (far < 0 || far % p.stride[axis] != 0 || far / p.stride[axis] >= p.input[axis]) return;
          from.push_back(far / p.stride[axis]);
        } else {
          from.push_back(at[a + 2] * p.stride[axis] + t[a + 1] * p.dilation[axis]);
        }
      }
      terms[output].push_back(static_cast<float>(rounded(input.at(from)) * rounded(weight.at(filter))));
    });
    float total = sum(terms[output], order, seed + output);
    if (p.bias) total += static_cast<float>(o.bias.values[static_cast<std::size_t>(at[1])]);
    if (p.residual) total += static_cast<float>(o.residual.values[output]);
    y.values[output] = round_to(activate(p.activation, total, p.negative_slope), p.out_dtype);
    ++output;
  });
  return y;
}

/// Orders of summation, contracts, tie rules, layouts and kinds of problems: none is called wrong.
TEST(DiagnosisHonest, VariationsRaiseNoAlarm) {
  int tried = 0;
  std::set<std::string> contracts;
  for (std::uint64_t seed = 0; tried < 280; ++seed) {
    Problem problem = testing::RandomProblem(seed, testing::Space::whole).draw(2e5);
    if (problem.kind == Kind::depthwise_separable || problem.dtype == DType::float64) continue;
    if (seed % 3 == 0 && problem.dtype == DType::float32) problem.contract = Contract::tf32;
    const Order order = all_orders[static_cast<std::size_t>(tried) % all_orders.size()];
    // Truncation is what contracts of tensor cores allow, and no other.
    if (order == Order::truncated_blocks &&
        (problem.contract == Contract::fp32 || problem.contract == Contract::ieee)) {
      if (problem.dtype != DType::float32) continue;
      problem.contract = Contract::tf32;
    }
    SCOPED_TRACE(spell(problem) + ", order " + std::to_string(static_cast<int>(order)));
    const DefinitionOperands operands = testing::real_operands(problem, seed);
    const StoredOperands stored(problem, operands);
    const std::vector<std::byte> output =
        testing::store(honest(problem, operands, order, seed), problem.out_dtype, problem.layout);
    const Diagnosis d = diagnose({.problem = problem,
                                  .operands = stored.operands(),
                                  .output = output,
                                  .earlier = {},
                                  .poison = 0xff,
                                  .poisoned = true,
                                  .seed = seed,
                                  .suspects = {}});
    EXPECT_EQ("", d.cause) << d.sentence;
    EXPECT_EQ(0, d.wrong);
    EXPECT_TRUE(d.worst.empty() && d.also.empty());
    contracts.insert(std::string(name(problem.contract)));
    ++tried;
  }
  EXPECT_EQ((std::set<std::string>{"bf16", "fp16", "fp32", "ieee", "tf32"}), contracts);
}

/// What no honest computation leaves, and what cannot be explained, is not explained.
class Hostile : public ::testing::TestWithParam<const char*> {
 protected:
  Problem problem_ = parse_problem(GetParam());
  BrokenResult result_{problem_, {}, 3};
};

TEST_P(Hostile, AllNan) {
  result_.change([](const auto&, double) { return std::nan(""); });
  const Diagnosis d = result_.diagnose();
  EXPECT_EQ("nan-everywhere", d.cause) << d.sentence;
  EXPECT_EQ(1, d.nan_share);
  EXPECT_EQ(0, d.correlation);
}

TEST_P(Hostile, AllPoison) {
  result_.leave_unwritten([](const auto&) { return true; });
  EXPECT_EQ("unwritten", result_.diagnose().cause);
  EXPECT_EQ(1, result_.diagnose().unwritten_share);
  // Of a result that was not poisoned the same bytes are NaN.
  EXPECT_EQ("nan-everywhere", result_.diagnose(false).cause);
}

TEST_P(Hostile, AllZero) {
  result_.change([](const auto&, double) { return 0; });
  EXPECT_EQ("all-zero", result_.diagnose().cause) << result_.diagnose().sentence;
}

TEST_P(Hostile, Constant) {
  result_.change([](const auto&, double) { return 3.25; });
  EXPECT_EQ("constant-output", result_.diagnose().cause) << result_.diagnose().sentence;
}

TEST_P(Hostile, Infinite) {
  result_.change([](const auto&, double) { return HUGE_VAL; });
  EXPECT_EQ("constant-output", result_.diagnose().cause) << result_.diagnose().sentence;
}

TEST_P(Hostile, Random) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    result_.change([&](const auto&, double) { return static_cast<double>(random() >> 11) * 0x1p-51 - 2; });
    const Diagnosis d = result_.diagnose();
    EXPECT_EQ("unknown", d.cause) << d.sentence;
    EXPECT_TRUE(d.also.empty());
  }
}

TEST_P(Hostile, RandomBytes) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    std::ranges::generate(result_.output, [&] { return static_cast<std::byte>(random() >> 56); });
    EXPECT_EQ("unknown", result_.diagnose().cause) << result_.diagnose().sentence;
  }
}

TEST_P(Hostile, OneElement) {
  const std::vector<std::int64_t> shape = output_shape(problem_);
  std::vector<std::int64_t> target;
  for (const std::int64_t size : shape) target.push_back(size * 2 / 3);
  std::int64_t linear = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) linear = linear * shape[i] + target[i];
  result_.suspects = {linear};
  result_.change([&](const auto& at, double right) { return at == target ? right + 1 : right; });
  const Diagnosis d = result_.diagnose();
  EXPECT_EQ("unknown", d.cause) << d.sentence;
  EXPECT_EQ(1, d.wrong);
  ASSERT_EQ(1u, d.worst.size());
  EXPECT_EQ(target, d.worst[0].place);
  EXPECT_NEAR(1, d.worst[0].actual - d.worst[0].expected, 1e-2);
}

// One error that is small is no matter of precision either.
TEST_P(Hostile, RightButForOneSmallError) {
  std::vector<std::int64_t> target = output_shape(problem_);
  for (std::int64_t& place : target) place /= 2;
  result_.change([&](const auto& at, double right) { return at == target ? right + 4e-3 : right; });
  const Diagnosis d = result_.diagnose();
  EXPECT_EQ(d.wrong == 0 ? "" : "unknown", d.cause) << d.sentence;
}

TEST_P(Hostile, RightPermutedAtRandom) {
  std::mt19937_64 random(5);
  std::vector<double> values;
  result_.change([&](const auto&, double right) { return values.emplace_back(right); });
  std::ranges::shuffle(values, random);
  std::size_t i = 0;
  result_.change([&](const auto&, double) { return values[i++]; });
  EXPECT_EQ("unknown", result_.diagnose().cause) << result_.diagnose().sentence;
}

INSTANTIATE_TEST_SUITE_P(Problems, Hostile,
                         ::testing::Values("Conv2d(5, 6, 3, padding=1) @ 2x5x11x9",
                                           "Conv1d(4, 8, 3, groups=4, dtype=float16) @ 2x4x40",
                                           "Conv3d(3, 4, 2, dtype=float64) @ 1x3x6x7x8",
                                           "ConvTranspose2d(4, 6, 3, stride=2, layout=channels_last) @ 2x4x6x7",
                                           "DepthwiseSeparable2d(5, 7, 3, padding=1) @ 2x5x9x8"));

/// Two faults at once are not taken for one: neither explains the result alone.
TEST(DiagnosisHonest, TwoFaultsAreNotOne) {
  using testing::Broken;
  using testing::Fault;
  const char* const names[] = {"kernel-flipped", "last-channel-skipped", "channels-rotated", "padding-off-by-one"};
  for (const char* const spelled : {"Conv2d(5, 6, 3, padding=1) @ 2x5x11x9", "Conv1d(6, 5, 5, padding=2) @ 3x6x23",
                                    "ConvTranspose2d(4, 6, 3, stride=2) @ 2x4x6x7"}) {
    const Problem problem = parse_problem(spelled);
    for (const Fault fault :
         {Fault::kernel_flipped, Fault::channel_skipped, Fault::padding_shifted, Fault::groups_ignored}) {
      SCOPED_TRACE(std::string(spelled) + ", fault " + std::to_string(static_cast<int>(fault)));
      // The weights' channels are exchanged beforehand, and the bias is missing.
      DefinitionOperands other = testing::real_operands(problem, 7);
      std::rotate(other.weight.values.begin(), other.weight.values.begin() + 7, other.weight.values.end());
      std::ranges::fill(other.bias.values, 0);
      const BrokenResult wrong(problem, {.fault = fault, .amount = -1}, 7, other);
      BrokenResult judged(problem, {}, 7);
      judged.output = wrong.output;
      const Diagnosis d = judged.diagnose();
      EXPECT_EQ("unknown", d.cause) << d.sentence;
      EXPECT_EQ(std::end(names), std::ranges::find(names, d.cause));
    }
  }
}

/// Half of the output is not written and the other half is wrong.
TEST(DiagnosisHonest, UnwrittenAndWrongIsUnknown) {
  const Problem problem = parse_problem("Conv2d(5, 6, 3, padding=1) @ 2x5x11x9");
  BrokenResult result(problem, {.fault = testing::Fault::kernel_flipped}, 7);
  result.leave_unwritten([](const auto& at) { return at[1] >= 3; });
  const Diagnosis d = result.diagnose();
  EXPECT_EQ("unknown", d.cause);
  EXPECT_NE(std::string::npos, d.sentence.find("Channels 3 to 5")) << d.sentence;
  EXPECT_EQ(0.5, d.unwritten_share);
}

/// No position overflows, whatever is suspected: sanitizers watch.
TEST(DiagnosisHonest, ExtremeNumbers) {
  for (const char* const spelled :
       {"Conv1d(1, 1, 1, stride=9223372036854775807, dilation=9223372036854775807) @ 1x1x1",
        "ConvTranspose1d(1, 1, 2, stride=4611686018427387904) @ 1x1x1",
        "ConvTranspose1d(1, 1, 1, dilation=9223372036854775807) @ 1x1x7",
        "Conv2d(1, 2, (1, 3), stride=(9223372036854775807, 1), dilation=(9223372036854775807, 1)) @ 1x1x1x12"}) {
    SCOPED_TRACE(spelled);
    BrokenResult result(parse_problem(spelled), {}, 3);
    EXPECT_EQ("", result.diagnose().cause) << result.diagnose().sentence;
    result.change([](const auto& at, double) { return 1 + 0.25 * static_cast<double>(at.back() % 3 + 4 * at[1]); });
    EXPECT_FALSE(result.diagnose().cause.empty());
  }
}

TEST(DiagnosisHonest, RefusesWhatDoesNotFit) {
  const Problem problem = parse_problem("Conv1d(2, 3, 2) @ 1x2x9");
  BrokenResult result(problem, {}, 1);
  const auto message = [&] {
    try {
      static_cast<void>(result.diagnose());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ("accepted", message());
  result.suspects = {24};
  EXPECT_NE(std::string::npos, message().find("output index = 24")) << message();
  result.suspects = {};
  result.earlier.pop_back();
  EXPECT_NE(std::string::npos, message().find("earlier has 95 bytes; valid: 96, or none")) << message();
  result.earlier = {};
  result.output.pop_back();
  EXPECT_NE(std::string::npos, message().find("output has 95 bytes; the problem needs 96")) << message();
}

}  // namespace
}  // namespace tapconv
