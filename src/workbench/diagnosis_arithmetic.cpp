#include "workbench/diagnosis_arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "oracle/statistics.hpp"
#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"
#include "workbench/fingerprint.hpp"
#include "workbench/honest_errors.hpp"

namespace tapconv {
namespace {

/// Products that fingerprints may cost, and the outputs that they are taken of.
constexpr double most_products = 2e7;
constexpr double least_outputs = 64, most_outputs = 512;

/// Below so many outputs an RMS error says nothing.
constexpr std::size_t least_outputs_for_rms = 64;

struct Said {
  const char* cause;
  const char* what;
};

/// How a computation with operands rounded so is named.
Said said_of(OperandRounding rounding) {
  switch (rounding) {
    case OperandRounding::exact:
      return {"fp32-inside", "operands are multiplied as they are"};
    case OperandRounding::tf32_rna:
      return {"tf32-rna-inside", "operands are rounded to TF32, to nearest, ties away from zero"};
    case OperandRounding::tf32_rn:
      return {"tf32-rn-inside", "operands are rounded to TF32, to nearest, ties to even"};
    case OperandRounding::tf32_rz:
      return {"tf32-truncated", "operands are truncated to TF32, as tensor cores do with plain binary32 bits"};
    case OperandRounding::bf16:
      return {"bf16-inside", "operands are rounded to bfloat16"};
    case OperandRounding::fp16:
      return {"fp16-inside", "operands are rounded to float16"};
  }
  return {"unknown", ""};
}

std::string advice(const Problem& problem, OperandRounding shown) {
  const std::string_view declared = name(problem.contract);
  if (problem.contract == Contract::tf32)
    return fmt::format("round both operands with cvt.{}.tf32 before they are multiplied", name(problem.tie_rule));
  if (shown == OperandRounding::tf32_rna || shown == OperandRounding::tf32_rn)
    return fmt::format(
        "{} asks for more: split the operands (3xTF32), use fused multiply-adds, or declare math=tf32, "
        "rounding={}",
        declared, shown == OperandRounding::tf32_rna ? "rna" : "rn");
  return fmt::format("{} asks for more: keep the operands' own type", declared);
}

/// The 16-bit type that holds all outputs of a wider one; that one, if there is none.
DType narrowest(const Case& result) {
  const DType own = result.problem().out_dtype;
  if (element_bytes(own) == 2) return own;
  for (const DType narrow : {DType::bfloat16, DType::float16}) {
    if (std::ranges::all_of(result.samples(), [&](const Sample& s) {
          return !std::isfinite(s.actual) || round_to(s.actual, narrow) == s.actual;
        }))
      return narrow;
  }
  return own;
}

}  // namespace

std::vector<Suspicion> rounding_suspicions(const Problem& problem) {
  std::vector<Suspicion> found;
  if (problem.dtype == DType::float64) return found;
  for (const OperandRounding rounding : all_operand_roundings) {
    Variant variant = faithful(problem);
    if (rounding == variant.rounding) continue;
    variant.rounding = rounding;
    const Said said = said_of(rounding);
    found.push_back({said.cause, fmt::format("{}; {}", said.what, advice(problem, rounding)), std::move(variant)});
  }
  return found;
}

std::optional<Finding> undeclared_rounding(const Case& result) {
  const Problem& problem = result.problem();
  if (problem.dtype == DType::float64) return std::nullopt;
  const auto most = std::clamp(most_products / result.reduction(), least_outputs, most_outputs);
  std::vector<std::int64_t> outputs;
  std::vector<double> values;
  for (const Sample* sample : result.some(false, static_cast<std::size_t>(most))) {
    outputs.push_back(sample->index);
    values.push_back(sample->actual);
  }
  std::vector<std::vector<OracleOutput>> expected;
  for (const OperandRounding rounding : all_operand_roundings) expected.push_back(result.expected(outputs, rounding));
  const Fingerprint print = fingerprint(problem, values, expected);
  if (!print.known || print.consistent_with(faithful(problem).rounding)) return std::nullopt;
  const Said said = said_of(print.rounding);
  Finding finding{said.cause, fmt::format("Every output examined is within the bound, but {}; {}.", said.what,
                                          advice(problem, print.rounding))};
  for (const OperandRounding rival : print.rivals_of(print.rounding, problem.dtype))
    finding.also.emplace_back(said_of(rival).cause);
  return finding;
}

bool is_inaccurate(const Case& result) {
  ErrorStatistics statistics(result.problem());
  HonestErrors honest(result.problem());
  for (const Sample& sample : result.samples()) {
    statistics.add({&sample.index, 1}, {&sample.actual, 1}, {&sample.expected, 1});
    honest.add(sample.expected);
  }
  return !honest.include(statistics);
}

bool is_coarse(const Case& result) {
  const Case::Noise& noise = result.noise();
  return noise.error > 4 * std::max(noise.chain, 0x1p-24 * noise.value) + noise.activation;
}

std::optional<Finding> poor_accumulation(const Case& result) {
  /// Errors beyond this share of the values are no matter of precision.
  constexpr double largest_share = 0.05;
  const Case::Noise& noise = result.noise();
  if (noise.error > largest_share * noise.value || result.samples().size() < least_outputs_for_rms) return std::nullopt;
  double toward_zero = 0, squares = 0;
  std::int64_t within_rounding = 0, common = 0, count = 0;
  const DType stored = narrowest(result);
  const bool narrowed = stored != result.problem().out_dtype;
  for (const Sample& sample : result.samples()) {
    if (!std::isfinite(sample.actual) || !std::isfinite(sample.expected.value)) continue;
    // Errors are not small everywhere if some are as large as what is summed.
    if (std::abs(sample.error()) > largest_share * sample.expected.magnitude) return std::nullopt;
    toward_zero -= std::copysign(1.0, sample.expected.value) * sample.error();
    squares += sample.error() * sample.error();
    common += std::abs(sample.error()) > noise.error / 8;
    within_rounding += std::abs(sample.error()) <= 1.01 * half_spacing(sample.expected.value, stored) + sample.bound;
    ++count;
  }
  if (count == 0 || squares == 0) return std::nullopt;
  // Short sums err everywhere. A few errors that outweigh the rest have another cause.
  if (4 * common < count) return std::nullopt;
  if (narrowed && within_rounding == count)
    return Finding{"output-rounded",
                   fmt::format("The outputs are rounded to {} before they are stored; store them as {}.", name(stored),
                               name(result.problem().out_dtype))};
  const bool wide = result.problem().dtype == DType::float64;
  const double all = wide ? 53 : 24;
  const std::string_view sums = wide ? "binary64" : "binary32";
  const double digits = all - std::log2(noise.error / std::max(noise.chain, std::exp2(-all - 2) * noise.value));
  if (narrowed)
    return Finding{"short-accumulator", fmt::format("The sums are kept in {}; accumulate in {}.", name(stored), sums)};
  const double bias = toward_zero / static_cast<double>(count) / std::sqrt(squares / static_cast<double>(count));
  if (bias > 0.5)
    return Finding{
        "truncating-accumulator",
        fmt::format("The sums are too small, as if every partial sum were truncated: the RMS error is {:.2g}, "
                    "that of fused multiply-adds {:.2g}; add short partial sums to a {} sum by "
                    "rounding additions.",
                    noise.error, noise.chain, sums)};
  if (digits > all - 1) return std::nullopt;
  return Finding{"short-accumulator",
                 fmt::format("The errors are those of sums kept to about {:.0f} bits: RMS {:.2g}, that of fused "
                             "multiply-adds in {} {:.2g}; accumulate in {}.",
                             digits, noise.error, sums, noise.chain, sums)};
}

}  // namespace tapconv
