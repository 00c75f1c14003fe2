#pragma once

#include <string>
#include <vector>

#include "../unit/all_outputs.hpp"
#include "arena.hpp"
#include "gpu_test.hpp"
#include "oracle/statistics.hpp"
#include "solver_plan.hpp"
#include "workbench/exact_operands.hpp"

namespace tapconv::testing {

// Trials of a plan: each returns what is wrong as a sentence, or nothing, so that a failing problem can be minimised.
// Kernels must have been loaded.

/// Runs the plan on the operands of `tensors` and leaves the result there. The run is made between guard zones, twice,
/// with different bytes under and around everything: stray writes are seen in the zones, and outputs that were not
/// written, depend on what they should not have read, or are not the same every time, as differences.
inline std::string run_guarded(const SolverPlan& plan, CudaTensors& tensors) {
  Arena arena(tensors.context(), plan.problem(), plan.workspace_bytes());
  std::vector<std::byte> result;
  // NaN in every type, and a number.
  for (const unsigned char byte : {static_cast<unsigned char>(0xff), static_cast<unsigned char>(0x5a)}) {
    arena.reset(byte, tensors);
    const std::vector<std::byte> before = arena.download();
    plan.run(arena.tensors(), arena.workspace(), tensors.stream().handle());
    tensors.stream().synchronize();
    const std::vector<std::byte> after = arena.download();
    if (std::string stray = arena.stray_write(before, after); !stray.empty()) return stray;
    const std::span<const std::byte> output = arena.output(after);
    if (result.empty()) {
      result.assign(output.begin(), output.end());
      continue;
    }
    const auto differing = std::ranges::mismatch(result, output);
    if (differing.in1 != result.end())
      return fmt::format(
          "outputs are not written, or depend on other memory or on chance; the first one lies at byte {} of {}",
          differing.in1 - result.begin(), result.size());
  }
  tensors.upload_output(result);
  return {};
}

/// Judges the result that `tensors` hold, about a million outputs at most.
inline std::string judge(const Problem& problem, CudaTensors& tensors, std::int64_t most_outputs = 1 << 20) {
  const std::vector<std::int64_t> outputs = sample_outputs(problem, most_outputs, 1);
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  ErrorStatistics statistics(problem);
  statistics.add(outputs, tensors.gather(outputs).values, tensors.evaluate(outputs, rounding));
  if (statistics.violations() == 0) return {};
  return fmt::format("{} of {} outputs break the bound, worst {} of it at output {}: {} for {}",
                     statistics.violations(), statistics.count(), statistics.worst_ratio(), statistics.worst_output(),
                     statistics.worst_actual(), statistics.worst_expected());
}

/// On uniform, sparse and tie-filled operands: integrity, and the contract's bound.
inline std::string contract_trial(const SolverPlan& plan, const cuda::Context& context, std::uint64_t seed) {
  const Problem& problem = plan.problem();
  CudaTensors tensors(problem, context);
  const std::pair<const char*, Recipes> all[] = {{"uniform", uniform_recipes(problem, seed)},
                                                 {"sparse", sparse_recipes(problem, seed)},
                                                 {"ties", tie_recipes(problem, seed)}};
  for (const auto& [name, recipes] : all) {
    tensors.fill(recipes);
    std::string wrong = run_guarded(plan, tensors);
    if (wrong.empty()) wrong = judge(problem, tensors);
    if (!wrong.empty()) return fmt::format("on {} operands {}", name, wrong);
  }
  return {};
}

/// On integers whose sums are exact, against the host's oracle: equality (-0 equals +0).
inline std::string exact_trial(const SolverPlan& plan, const cuda::Context& context, std::uint64_t seed) {
  const Problem& problem = plan.problem();
  const ExactOperands operands(problem, seed);
  CudaTensors tensors(problem, context);
  tensors.upload(operands.tensors.operands());
  if (std::string wrong = run_guarded(plan, tensors); !wrong.empty()) return wrong;
  const std::vector<std::int64_t> outputs = all_outputs(problem);
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  const std::vector<OracleOutput> expected = oracle(problem, operands.tensors.operands(), outputs, rounding);
  const std::vector<double> actual = tensors.download().values();
  std::int64_t exact = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!has_exact_sum(problem, expected[i])) continue;
    ++exact;
    const double value = round_to(expected[i].value, problem.out_dtype);
    if (actual[i] != value)
      return fmt::format("output {} of exact integers is {}; it should be {}", i, actual[i], value);
  }
  if (exact < std::ssize(outputs) * 9 / 10)
    return fmt::format("only {} of {} sums are exact: the test shows little", exact, outputs.size());
  return {};
}

}  // namespace tapconv::testing
