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

/// How a problem declares an arithmetic of TF32; empty for others.
std::string keywords(const std::string& arithmetic) {
  if (arithmetic == "tf32-rna" || arithmetic == "tf32-rn") return "math=tf32, rounding=" + arithmetic.substr(5);
  return arithmetic.starts_with("tf32 (") ? "math=tf32" : "";
}

/// What a wrong result shows beyond being wrong: the arithmetic of another contract.
std::string other_arithmetic(const CheckReport& report) {
  const std::string& shown = report.arithmetic;
  if (shown == report.expected_arithmetic || shown == "undecided" || shown == "unknown") return "";
  const std::string declared = keywords(shown);
  return fmt::format(" It was computed in {}{}.", describe(shown),
                     declared.empty() ? "" : fmt::format("; {} declares that", declared));
}

/// The first case that breaks the contract, or why none does.
std::string own_verdict(const CheckReport& report) {
  for (const CheckCase& item : report.cases) {
    if (item.unwritten.value_or(0) > 0)
      return fmt::format("Wrong: {} of the outputs examined on {} tensors were never written.",
                         percent(*item.unwritten, item.outputs), item.tensors);
    if (item.violations > 0)
      return fmt::format(
                 "Wrong: {} of the outputs examined on {} tensors are beyond the {} bound{}; the worst, output ({}), "
                 "is "
                 "{:.9g} where {:.9g} is exact.",
                 percent(item.violations, item.outputs), item.tensors, name(report.problem.contract),
                 item.nans > 0 ? fmt::format(", {} are NaN", percent(item.nans, item.outputs)) : "",
                 fmt::join(item.worst_place, ", "), item.worst_actual, item.worst_expected) +
             other_arithmetic(report);
  }
  if (report.arithmetic != report.expected_arithmetic && report.indistinguishable.empty())
    return fmt::format(
        "Wrong: every output examined is within the {} bound, but it shows {} where the contract says {}.",
        name(report.problem.contract), describe(report.arithmetic), describe(report.expected_arithmetic));
  for (const CheckCase& item : report.cases) {
    if (!item.accurate)
      return fmt::format(
          "Wrong: every output examined is within the {} bound, but the RMS error on {} tensors, {:.2g}, is more than "
          "twice that of a chain of fused multiply-adds, {:.2g}.",
          name(report.problem.contract), item.tensors, item.rms_error, item.sequential_rms_error);
  }
  const double worst = std::max_element(report.cases.begin(), report.cases.end(), [](const auto& a, const auto& b) {
                         return a.worst_ratio < b.worst_ratio;
                       })->worst_ratio;
  const std::string within =
      fmt::format("Right: every output examined is within the {} bound (the worst uses {:.2g} of it)",
                  name(report.problem.contract), worst);
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

std::string sentence(const CheckReport& report) {
  return own_verdict(report) + (report.reference ? against_reference(report) : "");
}

}  // namespace tapconv
