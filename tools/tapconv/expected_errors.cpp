#include "expected_errors.hpp"

namespace tapconv::cli {

ExpectedErrors expected_errors(const Problem& problem) {
  const OperandDistributions drawn = default_distributions(problem);
  const auto of = [&](Contract contract) {
    return ExpectedErrors::Of{std::string(name(contract)),
                              predict_error(problem, arithmetic_of(contract, problem.tie_rule), drawn)};
  };
  if (problem.dtype != DType::float32) return {.errors = {of(problem.contract)}, .against_tf32 = std::nullopt};
  ExpectedErrors expected{.errors = {of(Contract::fp32), of(Contract::tf32)}, .against_tf32 = std::nullopt};
  expected.against_tf32 =
      predict_pass(problem, arithmetic_of(Contract::fp32, problem.tie_rule),
                   arithmetic_of(Contract::tf32, problem.tie_rule), drawn, expected.tolerance, expected.tolerance);
  return expected;
}

}  // namespace tapconv::cli
