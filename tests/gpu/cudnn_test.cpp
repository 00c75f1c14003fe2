#include "cuda/cudnn.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <regex>
#include <span>

#include "cuda/cudnn_graph.hpp"
#include "oracle/oracle.hpp"
#include "tapconv/error.hpp"

namespace tapconv::cuda {
namespace {

using Values = std::vector<float>;

/// Small integers, so that every sum of products is exact in TF32 and in float32, in any order.
Values integers(std::int64_t count, unsigned seed) {
  Values values(static_cast<std::size_t>(count));
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 24) % 7 - 3);
  }
  return values;
}

/// Where each element of a tensor lies in memory, in the order of a contiguous one.
std::vector<std::int64_t> offsets(const cudnn::TensorLayout& layout) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(element_count(layout.sizes)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t axis = layout.sizes.size(); axis-- > 0;) {
      result[i] += rest % layout.sizes[axis] * layout.strides[axis];
      rest /= layout.sizes[axis];
    }
  }
  return result;
}

Buffer upload(const Context& context, const Values& values, const cudnn::TensorLayout& layout) {
  const std::vector<std::int64_t> places = offsets(layout);
  Values placed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) placed[places[i]] = values[i];
  Buffer buffer(context, values.size() * sizeof(float));
  buffer.upload(std::as_bytes(std::span(placed)));
  return buffer;
}

class CudnnGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << missing_reason();
    try {
      cudnn_.emplace(Context::get(0));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  /// Runs every plan that prepares, and compares its output with the oracle's.
  void check_all_plans(const Problem& problem, const CudnnChoice& choice) {
    const Context& context = Context::get(0);
    const cudnn::ConvolutionLayout layout = cudnn::convolution_layout(problem, choice);
    const Values input = integers(element_count(input_shape(problem)), 1);
    const Values weight = integers(element_count(weight_shape(problem)), 2);
    const Values bias = problem.bias ? integers(problem.out_channels, 3) : Values();
    const Buffer device_input = upload(context, input, layout.input);
    const Buffer device_weight = upload(context, weight, layout.weight);
    const Buffer device_bias = upload(context, integers(problem.out_channels, 3), layout.bias);
    const std::vector<std::int64_t> places = offsets(layout.output);
    std::vector<std::int64_t> outputs(places.size());
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
    const Stream stream(context);

    int ran = 0;
    for (CudnnPlan& plan : cudnn_->plans(problem, choice)) {
      SCOPED_TRACE(plan.name());
      EXPECT_TRUE(choice.allow_tf32 || !plan.notes().tensor_cores);
      try {
        plan.prepare(std::size_t{1} << 30);
      } catch (const Error&) {
        continue;
      }
      const Buffer workspace(context, std::max<std::size_t>(plan.workspace_bytes(), 16));
      Values poison(outputs.size(), std::numeric_limits<float>::quiet_NaN());
      Buffer device_output(context, poison.size() * sizeof(float));
      device_output.upload(std::as_bytes(std::span(poison)));
      try {
        plan.run(device_input.as<float>(), device_weight.as<float>(), device_bias.as<float>(),
                 device_output.as<float>(), workspace.as(), stream.handle());
      } catch (const Error& error) {
        GTEST_LOG_(INFO) << plan.name() << ": " << error.what();
        continue;
      }
      stream.synchronize();
      Values output(outputs.size());
      device_output.download(std::as_writable_bytes(std::span(output)));

      Problem computed = problem;
      computed.bias = plan.adds_bias();
      const auto expected =
          oracle(computed, operands(input, weight, computed.bias ? bias : Values()), outputs, OperandRounding::exact);
      const bool exact = !plan.notes().winograd && !plan.notes().fft;
      int wrong = 0;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const double error = std::abs(output[places[i]] - expected[i].value);
        if (!(error <= (exact ? 0.0 : 1e-2 * (expected[i].magnitude + 1)))) ++wrong;
      }
      EXPECT_EQ(wrong, 0) << "of " << outputs.size();
      ++ran;
    }
    EXPECT_GT(ran, 0) << "no plan ran";
  }

  std::optional<Cudnn> cudnn_;
};

TEST_F(CudnnGpuTest, EveryPlanComputesTheConvolution) {
  std::vector<Problem> problems{
      parse_problem("Conv1d(8, 12, 3, stride=3, dilation=4, bias=False) @ 3x8x101"),
      parse_problem("Conv1d(4, 4, 5, padding=2, groups=4) @ 2x4x33"),
      parse_problem("Conv2d(16, 24, (3, 5), padding=(1, 2)) @ 2x16x14x17"),
      parse_problem("Conv2d(12, 18, 3, stride=2, groups=3, bias=False) @ 2x12x13x11"),
      parse_problem("Conv3d(3, 8, (2, 3, 3), padding=1) @ 2x3x5x7x6"),
  };
  problems.push_back(problems[2]);
  problems.back().padding_lo = {0, 3, 0};
  problems.back().padding_hi = {2, 1, 0};
  for (const Problem& problem : problems) {
    for (const CudnnLayout layout : {CudnnLayout::contiguous, CudnnLayout::channels_last}) {
      for (const bool allow_tf32 : {true, false}) {
        for (const CudnnRank1 rank1 : {CudnnRank1::height_one, CudnnRank1::width_one}) {
          if (problem.rank != 1 && rank1 == CudnnRank1::width_one) continue;
          SCOPED_TRACE(::testing::Message()
                       << "rank " << problem.rank << ", groups " << problem.groups
                       << (layout == CudnnLayout::contiguous ? ", contiguous" : ", channels last")
                       << (allow_tf32 ? ", tf32" : "") << (rank1 == CudnnRank1::height_one ? "" : ", width one"));
          check_all_plans(problem, {layout, rank1, allow_tf32});
        }
      }
    }
  }
}

TEST_F(CudnnGpuTest, RefusesMisuse) {
  const Problem problem = parse_problem("Conv2d(64, 64, 3, padding=1, bias=False) @ 4x64x28x28");
  const Buffer memory(Context::get(0), 4 << 20);
  float* const data = memory.as<float>();
  bool saw_workspace = false;
  for (CudnnPlan& plan : cudnn_->plans(problem, {})) {
    const auto code_of = [&](auto&& action) -> std::optional<ErrorCode> {
      try {
        action();
      } catch (const Error& error) {
        return error.code();
      }
      return std::nullopt;
    };
    EXPECT_EQ(code_of([&] { plan.run(data, data, nullptr, data, data, nullptr); }), ErrorCode::usage);
    EXPECT_EQ(code_of([&] { static_cast<void>(plan.workspace_bytes()); }), ErrorCode::usage);
    if (code_of([&] { plan.prepare(std::numeric_limits<std::size_t>::max()); })) continue;
    EXPECT_EQ(code_of([&] { plan.run(data + 1, data, nullptr, data, data, nullptr); }), ErrorCode::usage);
    EXPECT_EQ(code_of([&] { plan.run(data, data, nullptr, nullptr, data, nullptr); }), ErrorCode::usage);
    if (plan.workspace_bytes() == 0) continue;
    saw_workspace = true;
    EXPECT_EQ(code_of([&] { plan.prepare(plan.workspace_bytes() - 1); }), ErrorCode::memory);
    EXPECT_EQ(code_of([&] { plan.run(data, data, nullptr, data, nullptr, nullptr); }), ErrorCode::usage);
  }
  EXPECT_TRUE(saw_workspace);
}

TEST_F(CudnnGpuTest, PlansOutliveTheLibraryObject) {
  const Problem problem = parse_problem("Conv2d(8, 8, 3, bias=False) @ 1x8x9x9");
  std::vector<CudnnPlan> plans = cudnn_->plans(problem, {});
  EXPECT_TRUE(std::regex_match(cudnn_->version(), std::regex(R"(9\.\d+\.\d+)"))) << cudnn_->version();
  cudnn_.reset();
  ASSERT_FALSE(plans.empty());
  EXPECT_NO_THROW(plans.front().prepare(std::numeric_limits<std::size_t>::max()));
}

}  // namespace
}  // namespace tapconv::cuda
