#include "workbench/fingerprint.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tapconv {
namespace {

/// Two tie rules differ in a few operands only; distances closer than this are noise.
constexpr double clear_margin = 1.02;

/// How far, in RMS errors of honest summation, chance can put a hypothesis beyond the best one.
constexpr double noise_share = 2;

Hypothesis test(OperandRounding rounding, std::span<const double> result, std::span<const double> exact,
                std::span<const double> rounded) {
  double rr = 0, rd = 0, dd = 0, distance = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!std::isfinite(result[i]) || !std::isfinite(exact[i]) || !std::isfinite(rounded[i])) continue;
    const double r = result[i] - exact[i], d = rounded[i] - exact[i];
    rr += r * r;
    rd += r * d;
    dd += d * d;
    distance += (result[i] - rounded[i]) * (result[i] - rounded[i]);
    ++count;
  }
  Hypothesis hypothesis{.rounding = rounding};
  if (count == 0) return hypothesis;
  hypothesis.rms_distance = std::sqrt(distance / static_cast<double>(count));
  if (dd > 0) hypothesis.slope = rd / dd;
  if (dd > 0 && rr > 0) hypothesis.correlation = rd / std::sqrt(rr * dd);
  return hypothesis;
}

/// Whether every number of `dtype`, as far as the rounding has its range, is its own rounding.
bool keeps(OperandRounding rounding, DType dtype) {
  switch (rounding) {
    case OperandRounding::exact:
      return true;
    case OperandRounding::tf32_rna:
    case OperandRounding::tf32_rn:
    case OperandRounding::tf32_rz:
      return dtype == DType::float16 || dtype == DType::bfloat16;
    case OperandRounding::bf16:
      return dtype == DType::bfloat16;
    case OperandRounding::fp16:
      return dtype == DType::float16 || dtype == DType::bfloat16;
  }
  return false;
}

}  // namespace

bool Fingerprint::consistent_with(OperandRounding candidate) const {
  const auto distance = [&](OperandRounding r) { return hypotheses[static_cast<std::size_t>(r)].rms_distance; };
  return distance(candidate) <= clear_margin * distance(rounding) + noise_share * noise_rms;
}

std::vector<OperandRounding> Fingerprint::rivals_of(OperandRounding candidate, DType dtype) const {
  std::vector<OperandRounding> rivals;
  for (const OperandRounding other : all_operand_roundings) {
    const bool alike = other == candidate || (keeps(other, dtype) && keeps(candidate, dtype));
    if (!alike && consistent_with(other)) rivals.push_back(other);
  }
  return rivals;
}

std::string Fingerprint::name() const {
  if (!known) return "unknown";
  if (!tie_rule_known) return "tf32 (to nearest, tie rule undecided)";
  if (rounding == OperandRounding::exact) return "fp32";
  return std::string(tapconv::name(rounding));
}

Fingerprint fingerprint(std::span<const double> result, std::span<const std::vector<double>> sums, double noise_rms) {
  // A residual explained to 90 % leaves room for accumulation in short precision, and for no other rounding.
  constexpr double enough = 0.9;
  Fingerprint print;
  print.noise_rms = noise_rms;
  for (std::size_t i = 0; i < std::size(all_operand_roundings); ++i)
    print.hypotheses.push_back(test(all_operand_roundings[i], result, sums[0], sums[i]));

  // Where no operand needed rounding all hypotheses coincide, and `exact`, tried first, is the one to name.
  const auto best = std::min_element(print.hypotheses.begin(), print.hypotheses.end(),
                                     [](const auto& a, const auto& b) { return a.rms_distance < b.rms_distance; });
  print.rounding = best->rounding;
  if (best->rounding == OperandRounding::exact) {
    // Exact operands: the result is far closer to the exact sum than the mildest rounding is.
    const Hypothesis& nearest = print.hypotheses[static_cast<std::size_t>(OperandRounding::tf32_rna)];
    print.known = best->rms_distance < 0.5 * nearest.rms_distance || nearest.rms_distance == 0;
    return print;
  }
  print.known = best->correlation > enough && std::abs(best->slope - 1) < 1 - enough;
  if (best->rounding == OperandRounding::tf32_rna)
    print.tie_rule_known = !print.consistent_with(OperandRounding::tf32_rn);
  if (best->rounding == OperandRounding::tf32_rn)
    print.tie_rule_known = !print.consistent_with(OperandRounding::tf32_rna);
  return print;
}

}  // namespace tapconv
