#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "oracle/statistics.hpp"
#include "workbench/judge.hpp"

namespace tapconv::testing {

/// Runs the engine on what the session holds and expects every output to be written and within the problem's contract.
inline void expect_within_contract(Session& session, const char* tensors) {
  const Problem& problem = session.problem();
  SCOPED_TRACE(std::string(tensors) + " on " + spell(problem));
  execute(session, session.engine());
  const auto outputs = sample_outputs(problem, element_count(output_shape(problem)), 0);
  const auto actual = session.gather(outputs);
  EXPECT_EQ(0, std::count(actual.unwritten.begin(), actual.unwritten.end(), true));
  ErrorStatistics statistics(problem);
  statistics.add(outputs, actual.values,
                 session.evaluate(outputs, operand_rounding(problem.contract, problem.tie_rule)));
  EXPECT_EQ(0, statistics.violations()) << "worst ratio " << statistics.worst_ratio() << " at "
                                        << statistics.worst_output() << ": " << statistics.worst_actual() << " for "
                                        << statistics.worst_expected();
}

/// The same on uniform tensors, sparse ones, and ones full of ties.
inline void expect_within_contract_on_all(Session& session, std::uint64_t seed) {
  session.fill(uniform_recipes(session.problem(), seed));
  expect_within_contract(session, "uniform");
  session.fill(sparse_recipes(session.problem(), seed));
  expect_within_contract(session, "sparse");
  session.fill(tie_recipes(session.problem(), seed));
  expect_within_contract(session, "ties");
}

}  // namespace tapconv::testing
