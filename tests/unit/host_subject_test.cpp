#include "workbench/host_subject.hpp"

#include <gtest/gtest.h>

#include "engine/host_session.hpp"
#include "small_problems.hpp"
#include "subjects.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

/// A subject that shows what it was given.
struct Spy {
  HostViews seen;
  std::vector<const void*> addresses;
  HostFunction function{"spy", [this](const Problem& problem, const HostViews& tensors) {
                          seen = tensors;
                          addresses.push_back(tensors.weight.data);
                          testing::compute_in({}, problem, tensors);
                        }};
};

TEST(HostSubject, ComputesASessionsProblemAtTheSameAddresses) {
  for (const Problem& problem : {testing::small_problem(), testing::small_transposed(), testing::small_separable()}) {
    const auto session = open_host_session(problem);
    Spy spy;
    const auto subject = make_host_subject(*session, spy.function);
    EXPECT_EQ("spy", subject->name());
    session->fill(uniform_recipes(problem, 1));
    execute(*session, *subject);
    EXPECT_EQ("", subject->trespass());
    const std::vector<std::int64_t> outputs = sample_outputs(problem, 1 << 20, 1);
    const Outputs actual = session->gather(outputs);
    const auto expected = session->evaluate(outputs, OperandRounding::exact);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_LE(std::abs(actual.values[i] - expected[i].value), allowed_error(problem, expected[i]));
    execute(*session, *subject);
    EXPECT_EQ(spy.addresses[0], spy.addresses[1]);
    EXPECT_EQ(weight_shape(problem), spy.seen.weight.shape);
    EXPECT_EQ(problem.kind == Kind::depthwise_separable, spy.seen.pointwise_weight.has_value());
    EXPECT_FALSE(spy.seen.residual.has_value());
  }
}

TEST(HostSubject, TellsOfWritesAfterTheEnd) {
  const auto session = open_host_session(testing::small_problem());
  Spy spy;
  const auto subject = make_host_subject(*session, spy.function);
  session->fill(uniform_recipes(testing::small_problem(), 1));
  execute(*session, *subject);
  static_cast<float*>(spy.seen.output.data)[2] += 1;
  EXPECT_EQ("the output was written after the function had returned", subject->trespass());
  execute(*session, *subject);
  EXPECT_EQ("", subject->trespass());
  static_cast<float*>(spy.seen.output.data)[-3] = 0;
  EXPECT_EQ("memory before the output was written", subject->trespass());
}

TEST(HostSubject, CannotSpoilTheSessionsOperands) {
  const auto session = open_host_session(testing::small_problem());
  const HostFunction spoiling{"spoiling", [](const Problem&, const HostViews& tensors) {
                                const_cast<float*>(static_cast<const float*>(tensors.weight.data))[0] = 42;
                              }};
  const auto subject = make_host_subject(*session, spoiling);
  session->fill(uniform_recipes(testing::small_problem(), 1));
  const double before = load_element(session->host_operands().weight.data(), DType::float32, 0);
  execute(*session, *subject);
  EXPECT_EQ(before, load_element(session->host_operands().weight.data(), DType::float32, 0));
  EXPECT_EQ("the weight was changed", subject->trespass());
}

}  // namespace
}  // namespace tapconv
