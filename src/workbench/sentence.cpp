#include "workbench/sentence.hpp"

#include <algorithm>

#include "problem/text.hpp"

namespace tapconv {
namespace {

std::string describe(const std::string& arithmetic) {
  if (arithmetic == "fp32") return "true fp32";
  if (arithmetic == "fp64") return "true fp64";
  if (arithmetic == "tf32-rna") return "TF32, operands rounded to nearest, ties away from zero";
  if (arithmetic == "tf32-rn") return "TF32, operands rounded to nearest, ties to even";
  if (arithmetic.starts_with("tf32 (")) return "TF32, operands rounded to nearest";
  if (arithmetic == "tf32-rz") return "TF32, operands truncated";
  if (arithmetic == "bf16" || arithmetic == "fp16") return arithmetic + " operands";
  return "an arithmetic that no hypothesis explains";
}

std::string percent(std::int64_t part, std::int64_t whole) {
  return fmt::format("{:.3g} %",
                     100.0 * static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1)));
}

/// "uniform tensors", "NaNs in the input".
std::string tensors_of(const CheckCase& item) {
  const bool is_adjective = item.tensors.find(' ') == std::string::npos;
  return is_adjective ? item.tensors + " tensors" : item.tensors;
}

/// How a problem declares an arithmetic of TF32; empty for others.
std::string keywords(const std::string& arithmetic) {
  if (arithmetic == "tf32-rna" || arithmetic == "tf32-rn") return "math=tf32, rounding=" + arithmetic.substr(5);
  return arithmetic.starts_with("tf32 (") ? "math=tf32" : "";
}

/// What a wrong result shows beyond being wrong: the arithmetic of another contract.
std::string other_arithmetic(const CheckReport& report) {
  const std::string& shown = report.arithmetic;
  if (shown.empty() || shown == report.expected_arithmetic || shown == "undecided" || shown == "unknown") return "";
  const std::string declared = keywords(shown);
  return fmt::format(" It was computed in {}{}.", describe(shown),
                     declared.empty() ? "" : fmt::format("; {} declares that", declared));
}

/// What is known beyond what is wrong: the arithmetic of another contract, which ties tell better than the tensors of a
/// diagnosis do; else the diagnosis.
std::string cause(const CheckReport& report) {
  if (std::string arithmetic = other_arithmetic(report); !arithmetic.empty()) return arithmetic;
  return report.diagnosis && !report.diagnosis->sentence.empty() ? " " + report.diagnosis->sentence : "";
}

/// The reason of the first failed stage before "full" (`before`), or of the first one after it; empty if there is none.
/// The stages "full" and "fingerprint" have sentences of their own.
std::string failed_stage(const CheckReport& report, bool before) {
  bool is_before = true;
  for (const CheckStage& stage : report.stages) {
    if (stage.name == "full" || stage.name == "fingerprint")
      is_before = false;
    else if (is_before == before && stage.result == CheckStage::Result::failed)
      return fmt::format("Wrong: {}{}.", stage.reason,
                         stage.problem == spell(report.problem) ? "" : fmt::format(", computing {}", stage.problem));
  }
  return "";
}

bool is_inaccurate(const CheckCase& item) { return !item.accurate && item.violations == 0; }

bool has_fault(const CheckCase& item) { return item.violations > 0 || item.unwritten.value_or(0) > 0; }

/// The first thing that breaks the contract; empty if nothing does.
std::string fault(const CheckReport& report) {
  if (std::string text = failed_stage(report, true); !text.empty()) return text + cause(report);
  const auto worst = std::ranges::find_if(report.cases, has_fault);
  if (worst != report.cases.end()) return fmt::format("Wrong: {}.", fault_of(*worst, report.problem)) + cause(report);
  if (!report.arithmetic.empty() && report.arithmetic != report.expected_arithmetic && report.indistinguishable.empty())
    return fmt::format(
        "Wrong: every output examined is within the {} bound, but it shows {} where the contract says {}.",
        name(report.problem.contract), describe(report.arithmetic), describe(report.expected_arithmetic));
  const auto inaccurate = std::ranges::find_if(report.cases, is_inaccurate);
  if (inaccurate != report.cases.end()) return fmt::format("Wrong: {}.", fault_of(*inaccurate, report.problem));
  if (std::string text = failed_stage(report, false); !text.empty()) return text + cause(report);
  return "";
}

std::string praise(const CheckReport& report) {
  if (report.cases.empty()) return "Right: every stage that was asked for is passed.";
  const double worst = std::ranges::max(report.cases, {}, &CheckCase::worst_ratio).worst_ratio;
  const std::string within =
      fmt::format("Right: every output examined is within the {} bound (the worst uses {:.2g} of it)",
                  name(report.problem.contract), worst);
  if (report.arithmetic.empty()) return within + ".";
  if (!report.indistinguishable.empty())
    return within +
           fmt::format("; these tensors do not show in which arithmetic it was computed: {} explain it equally well.",
                       fmt::join(report.indistinguishable, ", "));
  return within + fmt::format(", computed in {}.", describe(report.arithmetic));
}

std::string against_reference(const CheckReport& report) {
  const ReferenceVerdict& reference = *report.reference;
  if (reference.failures == 0)
    return fmt::format(
        " It passes the customary {:g} check against {}, which computes in {} (largest difference {:.2g}).",
        reference.atol, reference.name, describe(reference.arithmetic), reference.max_difference);
  std::string text = fmt::format(
      " It fails the customary {:g} check against {} in {} of the outputs (largest difference {:.2g})", reference.atol,
      reference.name, percent(reference.failures, reference.outputs), reference.max_difference);
  if (reference.arithmetic == "unknown") return text + "; what explains them is not known.";
  if (reference.arithmetic == report.arithmetic || reference.explained < reference.failures) {
    return text + fmt::format("; the reference computes in {}, which does not explain {} of them.",
                              describe(reference.arithmetic),
                              percent(reference.failures - reference.explained, reference.failures));
  }
  text += fmt::format(" because the reference computes in {}, and for no other reason", describe(reference.arithmetic));
  if (reference.own_rms_error == 0)
    text += fmt::format(": its RMS distance from the exact sum is {:.2g}, this result's 0", reference.rms_error);
  else if (reference.own_rms_error < reference.rms_error)
    text += fmt::format(": its RMS distance from the exact sum is {:.2g}, this result's {:.2g}, {:.0f} times less",
                        reference.rms_error, reference.own_rms_error, reference.rms_error / reference.own_rms_error);
  if (const std::string declared = keywords(reference.arithmetic); !declared.empty())
    text += fmt::format("; {} computes as it does", declared);
  return text + ".";
}

}  // namespace

std::string fault_of(const CheckCase& item, const Problem& problem) {
  if (item.unwritten.value_or(0) > 0)
    return fmt::format("{} of the outputs examined on {} were never written", percent(*item.unwritten, item.outputs),
                       tensors_of(item));
  if (item.violations > 0) {
    const std::string wrong =
        item.exact ? "are not the exact sum" : fmt::format("are beyond the {} bound", name(problem.contract));
    const std::string nans = item.nans > 0 ? fmt::format(", {} are NaN", percent(item.nans, item.outputs)) : "";
    return fmt::format("{} of the outputs examined on {} {}{}; the worst, output ({}), is {:.9g} where {:.9g} is exact",
                       percent(item.violations, item.outputs), tensors_of(item), wrong, nans,
                       fmt::join(item.worst_place, ", "), item.worst_actual, item.worst_expected);
  }
  if (!item.accurate)
    return fmt::format(
        "every output examined is within the {} bound, but the RMS error on {}, {:.2g}, is more than twice "
        "that of a chain of fused multiply-adds, {:.2g}",
        name(problem.contract), tensors_of(item), item.rms_error, item.sequential_rms_error);
  return "";
}

std::string sentence(const CheckReport& report) {
  std::string verdict = fault(report);
  if (verdict.empty()) verdict = praise(report);
  return verdict + (report.reference ? against_reference(report) : "");
}

}  // namespace tapconv
