#include <gtest/gtest.h>

#include "engine/session.hpp"

namespace tapconv {
namespace {

/// Compares what with_drawn() gives with what the session that run() uses holds: its oracle sees the same operands.
void expect_same_as_session(const Problem& problem) {
  TensorSource source;
  source.seed = 9;
  const TensorSource drawn = with_drawn(problem, source);
  const auto filled = Session::open(problem, {}), uploaded = Session::open(problem, {});
  filled->fill(uniform_recipes(problem, 9));
  uploaded->fill(uniform_recipes(problem, 1));
  upload_given(*uploaded, drawn);
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(element_count(output_shape(problem))));
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i] = static_cast<std::int64_t>(i);
  const auto expected = filled->evaluate(outputs, OperandRounding::exact);
  const auto actual = uploaded->evaluate(outputs, OperandRounding::exact);
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(expected[i].value, actual[i].value) << i;
}

Problem small() {
  Problem problem;
  problem.batch = 2;
  problem.in_channels = 4;
  problem.out_channels = 6;
  problem.input = {5, 4, 1};
  problem.kernel = {3, 2, 1};
  return problem;
}

TEST(DrawnTensors, AreThoseOfASession) {
  expect_same_as_session(small());
  Problem problem = small();
  problem.layout = Layout::channels_last;
  problem.residual = true;
  expect_same_as_session(problem);
  problem = small();
  problem.dtype = problem.out_dtype = DType::float16;
  problem.contract = Contract::fp16;
  expect_same_as_session(problem);
  problem = small();
  problem.kind = Kind::depthwise_separable;
  problem.depth_multiplier = 2;
  problem.residual = true;
  expect_same_as_session(problem);
}

TEST(DrawnTensors, AreOnlyWhatTheProblemHas) {
  Problem problem = small();
  problem.bias = false;
  const TensorSource drawn = with_drawn(problem, {});
  EXPECT_TRUE(drawn.input && drawn.weight);
  EXPECT_FALSE(drawn.bias || drawn.pointwise_weight || drawn.pointwise_bias || drawn.residual);
  problem.kind = Kind::depthwise_separable;
  problem.bias = problem.residual = true;
  const TensorSource all = with_drawn(problem, {});
  EXPECT_TRUE(all.bias && all.pointwise_weight && all.pointwise_bias && all.residual);
}

TEST(DrawnTensors, LeaveGivenOnesAlone) {
  TensorSource source;
  source.bias = Tensor({6}, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ((std::vector<double>{1, 2, 3, 4, 5, 6}), with_drawn(small(), source).bias->values());
}

}  // namespace
}  // namespace tapconv
