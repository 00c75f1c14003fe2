#include "workbench/fingerprint.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "workbench/summation.hpp"

namespace tapconv {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// How far, in RMS errors of honest summation, chance can put a hypothesis beyond the best one.
constexpr double noise_share = 2;

/// Two hypotheses are told apart if the result's place between them is known to an eighth of their distance.
constexpr double clear_distance = 8;

/// A result lies at its hypothesis, not somewhere on the way to another one; four standard errors are let pass.
constexpr double most_drift = 0.25;
constexpr double chance = 4;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double rms(std::span<const double> values) {
  return values.empty() ? 0 : std::sqrt(dot(values, values) / static_cast<double>(values.size()));
}

/// `values` less `share` of `others`.
std::vector<double> without(std::vector<double> values, double share, std::span<const double> others) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] -= share * others[i];
  return values;
}

bool same_special(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

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

class Naming {
 public:
  Naming(const Problem& problem, std::span<const double> result, std::span<const std::vector<OracleOutput>> expected)
      : problem_(problem), expected_(expected) {
    for (const OperandRounding rounding : all_operand_roundings) print_.hypotheses.push_back({.rounding = rounding});
    for (std::size_t i = 0; i < result.size(); ++i) take(i, result[i]);
    print_.binary64 = problem.dtype == DType::float64;
    print_.outputs = static_cast<std::int64_t>(used_.size());
    for (const std::size_t i : used_) exact_.push_back(expected[0][i].value);
    exact_square_ = dot(exact_, exact_);
  }

  Fingerprint run() {
    for (Hypothesis& hypothesis : print_.hypotheses) test(hypothesis);
    const auto best = std::ranges::min_element(residual_rms_);
    const auto index = static_cast<std::size_t>(best - residual_rms_.begin());
    Hypothesis& chosen = print_.hypotheses[index];
    if (used_.empty() || !chosen.possible) {
      // Nothing is shown by outputs that none could tell from, and nothing explains a NaN where there should be none.
      for (Hypothesis& hypothesis : print_.hypotheses) hypothesis.as_good = hypothesis.possible;
      return std::move(print_);
    }
    print_.rounding = chosen.rounding;
    chosen.as_good = true;
    const std::vector<OracleOutput>& explained = expected_[index];
    std::vector<double> noise;
    for (const std::size_t i : used_) noise.push_back(explained[i].sequential - explained[i].value);
    print_.noise_rms = rms(noise);
    const bool placed = compare_with_rivals(index);
    // Where the operands need no rounding, or what they lose cannot be seen, no rounding is named.
    if (print_.hypotheses.front().as_good) print_.rounding = OperandRounding::exact;
    const double tolerated = problem_.dtype == DType::float64 ? 0x1p-45 : 0x1p-16;
    const double value = rms(exact_), rival = std::isinf(nearest_rival_) ? 0 : nearest_rival_;
    // Accumulators may be worse than the chain, but not so bad that they hide a rounding of the operands.
    const double allowed =
        noise_share * print_.noise_rms + std::max(tolerated * value, std::min(most_drift * rival, 0x1p-12 * value));
    print_.known = placed && *best <= allowed;
    const auto as_good = [&](OperandRounding r) { return print_.hypotheses[static_cast<std::size_t>(r)].as_good; };
    if (print_.rounding == OperandRounding::tf32_rna) print_.tie_rule_known = !as_good(OperandRounding::tf32_rn);
    if (print_.rounding == OperandRounding::tf32_rn) print_.tie_rule_known = !as_good(OperandRounding::tf32_rna);
    if (print_.known) print_.summation = summation();
    return std::move(print_);
  }

 private:
  /// Sorts output `i` in: what cannot be compared may still rule hypotheses out.
  void take(std::size_t i, double result) {
    const OracleOutput& exact = expected_[0][i];
    if (!std::isfinite(exact.sum) || exact.may_overflow || !std::isfinite(round_to(exact.value, problem_.out_dtype)))
      return;
    for (std::size_t h = 0; h < print_.hypotheses.size(); ++h) {
      const double value = expected_[h][i].value;
      const bool agrees =
          std::isfinite(result) ? std::isfinite(value) : same_special(result, round_to(value, problem_.out_dtype));
      if (!agrees) print_.hypotheses[h].possible = false;
    }
    if (!std::isfinite(result)) return;
    used_.push_back(i);
    result_.push_back(result);
  }

  [[nodiscard]] std::vector<double> distance(std::span<const double> from, std::size_t hypothesis) const {
    std::vector<double> difference;
    for (std::size_t i = 0; i < used_.size(); ++i)
      difference.push_back(from[i] - expected_[hypothesis][used_[i]].value);
    return difference;
  }

  /// The share of the exact values that `values` hold. Few outputs would lose too much with it.
  [[nodiscard]] double share_of_exact(std::span<const double> values) const {
    constexpr std::size_t few = 32;
    return exact_square_ > 0 && values.size() > few ? dot(values, exact_) / exact_square_ : 0;
  }

  /// The largest share by which truncating additions shrink a sum: an ulp for each product. A result that has lost more
  /// is another one.
  [[nodiscard]] double most_shrinkage() const {
    double products = 0;
    for (const std::size_t i : used_) products += static_cast<double>(expected_[0][i].products);
    const double mean = used_.empty() ? 0 : products / static_cast<double>(used_.size());
    return std::min(std::max(mean, 8.0) * 0x1p-23, 0x1p-11);
  }

  void test(Hypothesis& hypothesis) {
    const auto index = static_cast<std::size_t>(hypothesis.rounding);
    if (used_.empty() || !hypothesis.possible) {
      residual_rms_.push_back(infinity);
      residuals_.emplace_back();
      return;
    }
    const std::vector<double> raw = distance(result_, index);
    hypothesis.rms_distance = rms(raw);
    const double most = most_shrinkage();
    residuals_.push_back(without(raw, std::clamp(share_of_exact(raw), -most, most), exact_));
    residual_rms_.push_back(rms(residuals_.back()));
    const std::vector<double> r = apart(distance(result_, 0)), d = apart(distance(exact_, index));
    const double rd = -dot(r, d), rr = dot(r, r), dd = dot(d, d);
    if (dd > 0) hypothesis.slope = rd / dd;
    if (dd > 0 && rr > 0) hypothesis.correlation = rd / std::sqrt(rr * dd);
  }

  /// `values` without what they share with the exact ones.
  [[nodiscard]] std::vector<double> apart(std::vector<double> values) const {
    const double share = share_of_exact(values);
    return without(std::move(values), share, exact_);
  }

  /// Which hypotheses the sample tells from the best one, and whether the result lies at the best one as seen from
  /// each.
  bool compare_with_rivals(std::size_t best) {
    bool placed = true;
    const double error = std::max(residual_rms_[best], print_.noise_rms / 4);
    std::vector<double> chosen;
    for (const std::size_t i : used_) chosen.push_back(expected_[best][i].value);
    for (std::size_t h = 0; h < print_.hypotheses.size(); ++h) {
      Hypothesis& rival = print_.hypotheses[h];
      if (h == best || !rival.possible) continue;
      const std::vector<double> away = apart(distance(chosen, h));
      const double spread = rms(away);
      const double seen = spread * std::sqrt(static_cast<double>(used_.size()));
      rival.as_good = spread == 0 || seen < clear_distance * error;
      if (rival.as_good) continue;
      nearest_rival_ = std::min(nearest_rival_, spread);
      const double drift = dot(residuals_[best], away) / dot(away, away);
      placed = placed && std::abs(drift) <= std::max(most_drift, chance * error / seen);
    }
    return placed;
  }

  [[nodiscard]] Summation summation() const {
    const bool exact_activation = problem_.activation == Activation::none || problem_.activation == Activation::relu;
    if (problem_.out_dtype != DType::float32 || !exact_activation) return Summation::undecided;
    const std::vector<OracleOutput>& explained = expected_[static_cast<std::size_t>(print_.rounding)];
    std::vector<double> sums, chain;
    for (const std::size_t i : used_) {
      sums.push_back(explained[i].value);
      chain.push_back(explained[i].sequential);
    }
    return summation_of(result_, sums, chain);
  }

  const Problem& problem_;
  std::span<const std::vector<OracleOutput>> expected_;
  Fingerprint print_;
  std::vector<std::size_t> used_;  // outputs, by their place in the sample; the following are of these
  std::vector<double> result_, exact_;
  double exact_square_ = 0;
  std::vector<std::vector<double>> residuals_;  // by hypothesis, without the shrinkage
  std::vector<double> residual_rms_;
  double nearest_rival_ = infinity;  // how far the nearest hypothesis is that the sample rules out
};

}  // namespace

bool Fingerprint::consistent_with(OperandRounding candidate) const {
  const Hypothesis& hypothesis = hypotheses[static_cast<std::size_t>(candidate)];
  return hypothesis.possible && (hypothesis.as_good || hypothesis.rms_distance <= noise_share * noise_rms);
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
  if (rounding == OperandRounding::exact) return binary64 ? "fp64" : "fp32";
  return std::string(tapconv::name(rounding));
}

std::vector<std::vector<OracleOutput>> hypotheses_of(Session& session, std::span<const std::int64_t> outputs) {
  std::vector<std::vector<OracleOutput>> all;
  for (const OperandRounding rounding : all_operand_roundings) all.push_back(session.evaluate(outputs, rounding));
  return all;
}

Fingerprint fingerprint(const Problem& problem, std::span<const double> result,
                        std::span<const std::vector<OracleOutput>> expected) {
  return Naming(problem, result, expected).run();
}

}  // namespace tapconv
