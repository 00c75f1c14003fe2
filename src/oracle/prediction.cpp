#include "tapconv/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "oracle/prediction_law.hpp"
#include "oracle/prediction_operands.hpp"
#include "oracle/prediction_sums.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

void expect_valid(std::string_view field, const Distribution& distribution) {
  const auto [shape, first, second, density] = distribution;
  const bool uniform = shape == Distribution::Shape::uniform;
  const double scale = uniform ? std::max(std::abs(first), std::abs(second)) : std::abs(first) + second;
  if (!(uniform ? first < second : second > 0) || !(scale >= 0x1p-60 && scale <= 0x1p60))
    fail(ErrorCode::usage, "{} is distributed {}({}, {}); valid: {}, of a scale from 2^-60 to 2^60", field,
         uniform ? "uniform" : "normal", first, second, uniform ? "low below high" : "a mean and a deviation above 0");
  if (!(density > 0 && density <= 1))
    fail(ErrorCode::usage, "{} has density = {}; valid: above 0, at most 1", field, density);
}

void expect_valid(const Problem& problem, const OperandDistributions& distributions) {
  validate(problem);
  const bool separable = problem.kind == Kind::depthwise_separable;
  expect_valid("input", distributions.input);
  expect_valid("weight", distributions.weight);
  if (problem.bias) expect_valid("bias", distributions.bias);
  if (separable) expect_valid("pointwise_weight", distributions.pointwise_weight);
  if (separable && problem.bias) expect_valid("pointwise_bias", distributions.pointwise_bias);
  if (problem.residual) expect_valid("residual", distributions.residual);
}

void expect_valid(std::string_view field, const Problem& problem, const Arithmetic& arithmetic) {
  if (arithmetic.block < 1) fail(ErrorCode::usage, "{} has block = {}; valid: at least 1", field, arithmetic.block);
  if (problem.dtype == DType::float64 && arithmetic.rounding != OperandRounding::exact)
    fail(ErrorCode::usage, "{} rounds operands to {}; valid for float64: exact", field, name(arithmetic.rounding));
}

/// Something added to a sum.
struct Term {
  double mean = 0, variance = 0;
};

Term term(bool present, const Distribution& distribution, DType dtype) {
  if (!present) return {};
  const JointMoments moments = joint_moments(distribution, dtype, OperandRounding::exact, OperandRounding::exact);
  return {moments[0][1], moments[0][2] - moments[0][1] * moments[0][1]};
}

Term total(std::span<const Term> terms) {
  Term sum;
  for (const Term& each : terms) {
    sum.mean += each.mean;
    sum.variance += each.variance;
  }
  return sum;
}

/// The products of one plain problem.
class Stage {
 public:
  Stage(const Distribution& input, DType input_dtype, const Distribution& weight, DType weight_dtype)
      : input_(input), weight_(weight), input_dtype_(input_dtype), weight_dtype_(weight_dtype) {}

  /// The products, and how those that `a` rounds differ from those that `b` does.
  [[nodiscard]] ProductLaw products(OperandRounding a, OperandRounding b) const {
    return product_law(joint_moments(input_, input_dtype_, a, b), joint_moments(weight_, weight_dtype_, a, b),
                       input_.density * weight_.density);
  }

  [[nodiscard]] Accumulator accumulator(OperandRounding rounding) const {
    return {products(rounding, rounding),
            product_bits(last_bits(input_, input_dtype_, rounding), last_bits(weight_, weight_dtype_, rounding)),
            weight_dtype_ == DType::float64 ? 53 : 24};
  }

 private:
  Distribution input_, weight_;
  DType input_dtype_, weight_dtype_;
};

/// Adds the error of one side's sum of `count` products and then `terms` to `law`; `sign` is -1 for the reference's.
void add_accumulation(SumLaw& law, const Accumulator& accumulator, const Arithmetic& arithmetic, double count,
                      std::size_t terms, double sign) {
  const AccumulationError error = accumulator.error(arithmetic, count);
  law.mean += sign * error.mean;
  law.covariance += sign * error.covariance;
  law.variance += error.linear;
  law.rest += error.constant;
  law.rest_square += error.square;
  law.rest_spread += error.spread;
  law.rest_spread_square += error.spread_square;
  // Bias and residual come last, each with a rounding.
  if (arithmetic.accumulation != Accumulation::exact && count > 0) law.final_roundings += static_cast<int>(terms);
}

std::vector<SumLaw> sum_laws(const Problem& problem, const Stage& stage, std::span<const Term> terms,
                             const Arithmetic& arithmetic, const std::optional<Arithmetic>& reference) {
  const OperandRounding other = reference ? reference->rounding : OperandRounding::exact;
  const ProductLaw product = stage.products(arithmetic.rounding, other);
  const Accumulator own = stage.accumulator(arithmetic.rounding), others = stage.accumulator(other);
  const Term added = total(terms);
  std::vector<SumLaw> laws;
  for (const auto& [count, share] : sum_lengths(problem)) {
    SumLaw law{.share = share,
               .products_mean = count * product.mean,
               .products_variance = count * product.variance,
               .terms_mean = added.mean,
               .terms_variance = added.variance,
               .value_fourth_cumulant = count * product.value_fourth_cumulant,
               .mean = count * product.difference,
               .covariance = count * product.covariance,
               .variance = count * product.difference_variance,
               .fourth_cumulant = count * product.fourth_cumulant};
    add_accumulation(law, own, arithmetic, count, terms.size(), 1);
    if (reference) add_accumulation(law, others, *reference, count, terms.size(), -1);
    laws.push_back(law);
  }
  return laws;
}

struct Overall {
  Term value, error;
};

/// The mixture seen as one law.
Overall overall(const std::vector<SumLaw>& laws) {
  Overall all;
  double value_square = 0, error_square = 0;
  for (const SumLaw& law : laws) {
    all.value.mean += law.share * law.value_mean();
    value_square += law.share * (law.value_variance() + law.value_mean() * law.value_mean());
    all.error.mean += law.share * law.mean;
    error_square += law.share * (law.total_variance() + law.mean * law.mean);
  }
  all.value.variance = std::max(0.0, value_square - all.value.mean * all.value.mean);
  all.error.variance = std::max(0.0, error_square - all.error.mean * all.error.mean);
  return all;
}

double mean_length(const Problem& problem) {
  double mean = 0;
  for (const auto& [count, share] : sum_lengths(problem)) mean += share * count;
  return mean;
}

/// The sums of the whole problem. Without a reference: against exact ones.
std::vector<SumLaw> problem_laws(const Problem& problem, const Arithmetic& arithmetic,
                                 const std::optional<Arithmetic>& reference, const OperandDistributions& of) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  const std::vector<Problem> parts = stages(problem);
  std::vector<Term> terms;
  if (problem.bias) terms.push_back(term(true, separable ? of.pointwise_bias : of.bias, problem.dtype));
  if (problem.residual) terms.push_back(term(true, of.residual, problem.out_dtype));
  if (!separable)
    return sum_laws(problem, {of.input, problem.dtype, of.weight, problem.dtype}, terms, arithmetic, reference);

  // The depthwise half rounds no operands. Its outputs, nearly normal, are the pointwise half's input, in binary32.
  std::vector<Term> inner_terms;
  if (problem.bias) inner_terms.push_back(term(true, of.bias, problem.dtype));
  const auto unrounded = [](Arithmetic a) { return a.rounding = OperandRounding::exact, a; };
  const std::optional<Arithmetic> inner_reference = reference ? std::optional(unrounded(*reference)) : std::nullopt;
  const Overall inner = overall(sum_laws(parts.front(), {of.input, problem.dtype, of.weight, problem.dtype},
                                         inner_terms, unrounded(arithmetic), inner_reference));
  if (!(inner.value.variance > 0)) return {{.terms_mean = total(terms).mean, .terms_variance = total(terms).variance}};
  const Distribution between = Distribution::normal(inner.value.mean, std::sqrt(inner.value.variance));
  const DType between_dtype = problem.dtype == DType::float64 ? DType::float64 : DType::float32;
  const Stage last{between, between_dtype, of.pointwise_weight, problem.dtype};
  std::vector<SumLaw> laws = sum_laws(parts.back(), last, terms, arithmetic, reference);
  const Term weight = term(true, of.pointwise_weight, problem.dtype);
  const double square = weight.variance + weight.mean * weight.mean;
  for (SumLaw& law : laws) {
    // The error of each input of the pointwise half, times its weight.
    const auto count = static_cast<double>(parts.back().in_channels);
    const double mean = inner.error.mean * weight.mean;
    law.mean += count * mean;
    law.variance += count * ((inner.error.variance + inner.error.mean * inner.error.mean) * square - mean * mean);
  }
  return laws;
}

OutputErrors output_errors(const Problem& problem, const Arithmetic& arithmetic,
                           const std::optional<Arithmetic>& reference, const OperandDistributions& distributions) {
  // Storing rounds 16-bit outputs, exact sums, and what a smooth activation makes.
  const bool bends = problem.activation != Activation::none && problem.activation != Activation::relu;
  const auto is_rounded = [&](const Arithmetic& a) {
    return element_bytes(problem.out_dtype) == 2 || a.accumulation == Accumulation::exact || bends;
  };
  return {problem_laws(problem, arithmetic, reference, distributions),
          {.activation = problem.activation,
           .negative_slope = problem.negative_slope,
           .accumulator = problem.dtype == DType::float64 ? DType::float64 : DType::float32,
           .dtype = problem.out_dtype,
           .rounded = int{is_rounded(arithmetic)} + int{reference && is_rounded(*reference)}}};
}

double output_count(const Problem& problem) { return static_cast<double>(element_count(output_shape(problem))); }

}  // namespace

OperandDistributions default_distributions(const Problem& problem) {
  const auto fan_in = [](const Problem& part) {
    double products = static_cast<double>(part.in_channels / part.groups);
    for (const std::int64_t taps : part.kernel) products *= static_cast<double>(taps);
    const double bound = 1 / std::sqrt(products);
    return Distribution::uniform(-bound, bound);
  };
  const std::vector<Problem> parts = stages(problem);
  const Distribution first = fan_in(parts.front()), last = fan_in(parts.back());
  return {.input = Distribution::uniform(0, 1),
          .weight = first,
          .bias = first,
          .pointwise_weight = last,
          .pointwise_bias = last,
          .residual = Distribution::uniform(-1, 1)};
}

std::string_view name(Accumulation accumulation) noexcept {
  switch (accumulation) {
    case Accumulation::exact:
      return "exact";
    case Accumulation::chain:
      return "chain";
    case Accumulation::blocked:
      return "blocked";
    case Accumulation::pairwise:
      return "pairwise";
    case Accumulation::truncated:
      return "truncated";
  }
  return "?";
}

Arithmetic arithmetic_of(Contract contract, TieRule rule) noexcept {
  return {.rounding = operand_rounding(contract, rule), .accumulation = Accumulation::chain};
}

ErrorPrediction predict_error(const Problem& problem, const Arithmetic& arithmetic,
                              const OperandDistributions& distributions) {
  expect_valid(problem, distributions);
  expect_valid("arithmetic", problem, arithmetic);
  const OutputErrors errors = output_errors(problem, arithmetic, std::nullopt, distributions);
  double products = 0;
  for (const Problem& part : stages(problem)) products += mean_length(part);
  return {.products = products,
          .rms_value = errors.rms_value(),
          .rms_error = errors.rms(),
          .expected_max_error = errors.expected_max(output_count(problem))};
}

PassPrediction predict_pass(const Problem& problem, const Arithmetic& arithmetic, const Arithmetic& reference,
                            const OperandDistributions& distributions, double atol, double rtol) {
  expect_valid(problem, distributions);
  expect_valid("arithmetic", problem, arithmetic);
  expect_valid("reference", problem, reference);
  for (const auto& [field, value] : {std::pair{"atol", atol}, std::pair{"rtol", rtol}}) {
    if (!(value >= 0 && std::isfinite(value)))
      fail(ErrorCode::usage, "{} = {}; valid: a finite number, at least 0", field, value);
  }
  const OutputErrors errors = output_errors(problem, arithmetic, reference, distributions);
  const double outputs = output_count(problem), failing = errors.failing(atol, rtol);
  return {.rms_difference = errors.rms(),
          .expected_max_difference = errors.expected_max(outputs),
          .failing_share = failing,
          .pass_probability = std::exp(outputs * std::log1p(-failing))};
}

}  // namespace tapconv
