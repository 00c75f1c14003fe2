#include "workbench/explain_sentences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace tapconv {
namespace {

/// "19 %", "0.3 %", or where that says nothing "some 500": of all outputs.
std::string share_text(double share, double outputs) {
  if (share >= 0.01) return fmt::format("{:.0f} %", 100 * share);
  return share >= 1e-5 ? fmt::format("{:.1g} %", 100 * share)
                       : fmt::format("some {:.0f}", std::max(1.0, share * outputs));
}

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return words.empty() ? "" : words.front();
  return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

/// "tf32-rna and tf32-rn in 19 % of the outputs": neighbours with one share together.
std::string failures(const std::vector<const ReferenceOutlook*>& failing, double outputs) {
  std::vector<std::string> groups;
  for (std::size_t i = 0; i < failing.size();) {
    const std::string share = share_text(failing[i]->pass.failing_share, outputs);
    std::vector<std::string> labels;
    for (; i < failing.size() && share_text(failing[i]->pass.failing_share, outputs) == share; ++i)
      labels.push_back(failing[i]->label);
    groups.push_back(fmt::format("{} in {}{}", listed(labels), share, groups.empty() ? " of the outputs" : ""));
  }
  return fmt::format("{}", fmt::join(groups, ", "));
}

std::string tolerance_text(const Tolerance& tolerance) {
  return fmt::format("{} + {} |reference|", tolerance.atol, tolerance.rtol);
}

std::string sentence(const ContractOutlook& contract, OperandRounding own, const ExplainReport& report) {
  std::vector<std::string> passed;
  std::vector<const ReferenceOutlook*> failing;
  bool operands_decide = true, fails_own = false;
  for (const ReferenceOutlook& reference : contract.against) {
    if (reference.agrees()) {
      passed.push_back(reference.label);
      continue;
    }
    failing.push_back(&reference);
    // Of the failures that exact sums would not mend at least nine tenths.
    if (reference.operand_share.value_or(0) < 0.9 * reference.pass.failing_share) operands_decide = false;
    if (reference.rounding == own) fails_own = true;
  }
  // "An" before an f or an i.
  std::string text = fmt::format("Within {}, {} {} result agrees with ", tolerance_text(report.tolerance),
                                 contract.label.find_first_of("fi") == 0 ? "an" : "a", contract.label);
  if (failing.empty()) return text + fmt::format("a reference in {}.", listed(passed));
  text += passed.empty() ? "no reference" : fmt::format("a reference in {}", listed(passed));
  text += fmt::format("; it differs from one in {}",
                      failures(failing, static_cast<double>(report.tensors.back().elements)));
  if (fails_own)
    return text +
           fmt::format(
               ". Even its own arithmetic in another order of summation differs by up to {:.2g}: the tolerance "
               "is too tight for sums of this length and outputs of this type.",
               std::ranges::find(contract.against, own, &ReferenceOutlook::rounding)->pass.expected_max_difference);
  if (operands_decide)
    return text + ", whatever its order of summation: to agree, round both operands as the reference does.";
  return text + "; the order of summation has a part in it.";
}

}  // namespace

std::vector<std::string> conclusions(const ExplainReport& report) {
  const Problem& problem = report.plan.problem;
  std::vector<std::string> sentences;
  const OperandRounding asked = operand_rounding(problem.contract, problem.tie_rule);
  for (const ContractOutlook& contract : report.contracts) {
    const OperandRounding own = operand_rounding(contract.contract, contract.tie_rule);
    const bool is_asked = contract.contract == problem.contract && contract.tie_rule == problem.tie_rule;
    const bool unrounded = contract.contract == default_contract(problem.dtype);
    // Results that round operands alike can be told of once.
    if (is_asked || (unrounded && asked != own)) sentences.push_back(sentence(contract, own, report));
  }
  return sentences;
}

}  // namespace tapconv
