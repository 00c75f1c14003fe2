#include "workbench/fingerprint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <random>

#include "synthetic_reference.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

using testing::Adding;
using testing::SyntheticReference;

/// A 1x1 convolution: `outputs` sums of `reduction` products.
Problem sums(std::int64_t reduction, std::int64_t outputs) {
  Problem problem;
  problem.rank = 1;
  problem.in_channels = reduction;
  problem.input[0] = outputs;
  problem.bias = false;
  return problem;
}

/// One way to compute a problem, and what the fingerprint must say of it.
struct Reference {
  Problem problem;
  OperandRounding rounding;
  Adding adding;
};

/// Draws references from all over the space.
class References {
 public:
  explicit References(std::uint64_t seed) : random_(seed) {}

  Reference draw(int number) {
    Reference reference{.problem = problem(number),
                        .rounding = all_operand_roundings[static_cast<std::size_t>(number) % 6],
                        .adding = testing::all_addings[below(7)]};
    // 3xTF32 is a way to compute with exact operands.
    if (reference.adding == Adding::split) reference.rounding = OperandRounding::exact;
    return reference;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }
  template <std::size_t count>
  std::int64_t one_of(const std::array<std::int64_t, count>& values) {
    return values[below(count)];
  }

  Problem problem(int number) {
    // K from 8 to 36,864, every tenth at an end of that range.
    if (number % 10 == 0) return sums(number % 20 == 0 ? 8 : 36864, 300);
    Problem p;
    p.rank = static_cast<int>(below(3)) + 1;
    p.kind = std::array{Kind::convolution, Kind::convolution, Kind::transposed, Kind::depthwise_separable}[below(4)];
    p.bias = below(2) == 0;
    for (int axis = 0; axis < p.rank; ++axis) {
      p.kernel[axis] = one_of<4>({1, 2, 3, 5});
      p.stride[axis] = one_of<3>({1, 1, 2});
      p.dilation[axis] = one_of<3>({1, 1, 2});
      p.padding_lo[axis] = p.padding_hi[axis] = static_cast<std::int64_t>(below(2));
      p.input[axis] = std::array<std::int64_t, 3>{300, 24, 12}[static_cast<std::size_t>(p.rank - 1)];
    }
    p.in_channels = one_of<4>({8, 16, 48, p.rank == 3 ? 64 : 512});
    p.out_channels = one_of<3>({4, 8, 16});
    const std::size_t grouping = below(4);
    if (grouping == 0) p.groups = 4;
    if (grouping == 1) p.groups = p.in_channels = p.out_channels = 16;  // depthwise
    if (p.kind == Kind::depthwise_separable) p.groups = 1;
    // Sums of fewer than eight products are not asked about.
    if (grouping == 1 && p.kind != Kind::depthwise_separable) {
      for (int axis = 0; axis < p.rank; ++axis) p.kernel[axis] = p.rank == 1 ? 24 : 5;
      p.stride = {1, 1, 1};
    }
    if (p.kind == Kind::transposed) p.stride = {1, p.rank > 1 && below(2) == 0 ? 2 : 1, 1};
    if (number % 5 == 1 && p.kind != Kind::depthwise_separable) {
      p.dtype = p.out_dtype = number % 2 == 0 ? DType::float16 : DType::bfloat16;
      p.contract = default_contract(p.dtype);
    }
    return p;
  }

  std::mt19937_64 random_;
};

/// About so many outputs, corners and borders among them, as take some time; at most `most`.
std::vector<std::int64_t> some_outputs(const Problem& problem, std::size_t most) {
  const double products = work(problem).flop / static_cast<double>(element_count(output_shape(problem))) / 2;
  const std::size_t count = std::clamp<std::size_t>(static_cast<std::size_t>(1e6 / products), 128, most);
  const std::vector<std::int64_t> all = sample_outputs(problem, 400, 1);
  std::vector<std::int64_t> some;
  const std::size_t step = std::max<std::size_t>(1, all.size() / count);
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

Fingerprint print_of(const Reference& reference, std::size_t most = 400) {
  const SyntheticReference synthetic(reference.problem, tie_recipes(reference.problem, 3));
  const std::vector<std::int64_t> outputs = some_outputs(reference.problem, most);
  return fingerprint(reference.problem, synthetic.compute(outputs, reference.rounding, reference.adding),
                     synthetic.hypotheses(outputs));
}

/// Roundings that leave the numbers of a type alone cannot be told apart.
OperandRounding as_shown(OperandRounding rounding, DType dtype) {
  const bool shown = dtype == DType::float32 || (dtype == DType::float16 && rounding == OperandRounding::bf16) ||
                     (dtype == DType::bfloat16 && rounding == OperandRounding::fp16);
  return shown ? rounding : OperandRounding::exact;
}

TEST(Fingerprint, NamesEveryOneOfAHundredReferences) {
  References references(11);
  for (int number = 0; number < 100; ++number) {
    const Reference reference = references.draw(number);
    const DType dtype = reference.problem.dtype;
    SCOPED_TRACE(std::to_string(number) + ": " + spell(reference.problem) + ", " +
                 std::string(name(reference.rounding)) + ", adding " +
                 std::to_string(static_cast<int>(reference.adding)));
    const Fingerprint print = print_of(reference);
    const OperandRounding shown = as_shown(reference.rounding, dtype);
    EXPECT_EQ(shown == OperandRounding::exact ? "fp32" : name(shown), print.name());
    for (const OperandRounding other : all_operand_roundings)
      EXPECT_EQ(as_shown(other, dtype) == shown, print.consistent_with(other)) << name(other);
  }
}

TEST(Fingerprint, SeesThroughOutputsOf16Bits) {
  for (const DType out : {DType::float16, DType::bfloat16}) {
    for (const OperandRounding rounding : all_operand_roundings) {
      Problem problem = sums(64, 512);
      problem.out_channels = 16;
      problem.out_dtype = out;
      const SyntheticReference synthetic(problem, tie_recipes(problem, 5));
      const std::vector<std::int64_t> outputs = sample_outputs(problem, 1 << 20, 1);
      const Fingerprint print =
          fingerprint(problem, synthetic.compute(outputs, rounding, Adding::cut8), synthetic.hypotheses(outputs));
      EXPECT_EQ(rounding == OperandRounding::exact ? "fp32" : name(rounding), print.name()) << name(out);
      EXPECT_TRUE(print.tie_rule_known);
      EXPECT_EQ(Summation::undecided, print.summation);
    }
  }
}

TEST(Fingerprint, TellsHowProductsWereAdded) {
  const auto shown = [](Adding adding, std::int64_t reduction) {
    return print_of({.problem = sums(reduction, 600), .rounding = OperandRounding::tf32_rn, .adding = adding}, 600)
        .summation;
  };
  for (const std::int64_t reduction : {64, 2240}) {
    EXPECT_EQ(Summation::chain, shown(Adding::chain, reduction));
    EXPECT_EQ(Summation::once, shown(Adding::once, reduction));
    EXPECT_EQ(Summation::rounded, shown(Adding::pairwise, reduction));
    EXPECT_EQ(Summation::truncated, shown(Adding::cut8, reduction));
    EXPECT_EQ(Summation::truncated, shown(Adding::cut16, reduction));
  }
  EXPECT_EQ(Summation::undecided, shown(Adding::chain, 1)) << "a single product shows no order";
}

/// A problem, its hypotheses, and a right result to spoil.
struct Spoilt {
  Problem problem = sums(64, 400);
  SyntheticReference synthetic{problem, tie_recipes(problem, 8)};
  std::vector<std::int64_t> outputs = sample_outputs(problem, 512, 1);
  std::vector<double> result = synthetic.compute(outputs, OperandRounding::tf32_rna, Adding::chain);

  [[nodiscard]] Fingerprint print() const { return fingerprint(problem, result, synthetic.hypotheses(outputs)); }
};

TEST(Fingerprint, KnowsWhatIsSpoiltInTheTests) { EXPECT_EQ("tf32-rna", Spoilt().print().name()); }

TEST(Fingerprint, DoesNotKnowNoise) {
  for (const double size : {1e-3, 1.0}) {
    Spoilt spoilt;
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, size);
    for (double& value : spoilt.result) value *= 1 + noise(random);
    EXPECT_EQ("unknown", spoilt.print().name()) << size;
  }
}

TEST(Fingerprint, DoesNotKnowZeros) {
  Spoilt spoilt;
  for (double& value : spoilt.result) value = 0;
  EXPECT_EQ("unknown", spoilt.print().name());
}

TEST(Fingerprint, DoesNotKnowAScaledResult) {
  Spoilt spoilt;
  for (double& value : spoilt.result) value *= 0.999;
  EXPECT_EQ("unknown", spoilt.print().name());
}

TEST(Fingerprint, DoesNotKnowAnotherConvolution) {
  Spoilt spoilt;
  spoilt.result = SyntheticReference(spoilt.problem, tie_recipes(spoilt.problem, 9))
                      .compute(spoilt.outputs, OperandRounding::exact, Adding::chain);
  EXPECT_EQ("unknown", spoilt.print().name());
}

TEST(Fingerprint, DoesNotKnowWhatIsNotFinite) {
  for (const double special : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Spoilt spoilt;
    spoilt.result[7] = special;
    EXPECT_EQ("unknown", spoilt.print().name());
    for (double& value : spoilt.result) value = special;
    const Fingerprint print = spoilt.print();
    EXPECT_EQ("unknown", print.name());
    for (const OperandRounding rounding : all_operand_roundings) EXPECT_FALSE(print.consistent_with(rounding));
  }
}

TEST(Fingerprint, DoesNotKnowOneRoundedOperand) {
  // Halfway between exact operands and rounded ones.
  Spoilt spoilt;
  const std::vector<double> exact = spoilt.synthetic.compute(spoilt.outputs, OperandRounding::exact, Adding::chain);
  for (std::size_t i = 0; i < exact.size(); ++i) spoilt.result[i] = (spoilt.result[i] + exact[i]) / 2;
  EXPECT_EQ("unknown", spoilt.print().name());
}

TEST(Fingerprint, DoesNotKnowNoiseIn16Bits) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    Problem problem = sums(64, 400);
    problem.dtype = problem.out_dtype = dtype;
    problem.contract = default_contract(dtype);
    const SyntheticReference synthetic(problem, tie_recipes(problem, 2));
    const std::vector<std::int64_t> outputs = sample_outputs(problem, 512, 1);
    std::vector<double> result = synthetic.compute(outputs, OperandRounding::exact, Adding::chain);
    EXPECT_EQ("fp32", fingerprint(problem, result, synthetic.hypotheses(outputs)).name());
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 0.02);
    for (double& value : result) value = round_to(value * (1 + noise(random)), dtype);
    EXPECT_EQ("unknown", fingerprint(problem, result, synthetic.hypotheses(outputs)).name());
  }
}

TEST(Fingerprint, OfASingleOutput) {
  const Reference reference{.problem = sums(64, 1), .rounding = OperandRounding::exact, .adding = Adding::blocked};
  const Fingerprint print = print_of(reference);
  EXPECT_EQ(1, print.outputs);
  EXPECT_TRUE(print.consistent_with(OperandRounding::exact));
  EXPECT_FALSE(print.consistent_with(OperandRounding::bf16));
}

TEST(Fingerprint, LeavesTheTieRuleOpenWithoutTies) {
  const Problem problem = sums(8, 300);
  const SyntheticReference synthetic(problem, uniform_recipes(problem, 5));
  // Uniform numbers have ties, but too seldom for so few outputs.
  const std::vector<std::int64_t> outputs = sample_outputs(problem, 40, 1);
  const Fingerprint print = fingerprint(problem, synthetic.compute(outputs, OperandRounding::tf32_rn, Adding::cut8),
                                        synthetic.hypotheses(outputs));
  EXPECT_TRUE(print.known);
  EXPECT_FALSE(print.tie_rule_known);
  EXPECT_EQ("tf32 (to nearest, tie rule undecided)", print.name());
}

TEST(Fingerprint, CallsExactWhatNeedsNoRounding) {
  const Problem problem = sums(16, 300);
  // Of two kept bits each.
  std::vector<float> x, w;
  for (std::int64_t i = 0; i < element_count(input_shape(problem)); ++i) x.push_back(i % 3 == 0 ? 1.0f : -1.5f);
  for (std::int64_t i = 0; i < element_count(weight_shape(problem)); ++i) w.push_back(i % 5 == 0 ? 1.0f : -1.0f);
  std::vector<std::int64_t> outputs = sample_outputs(problem, 300, 1);
  std::vector<std::vector<OracleOutput>> hypotheses;
  for (const OperandRounding rounding : all_operand_roundings)
    hypotheses.push_back(oracle(problem, operands(x, w, {}), outputs, rounding));
  std::vector<double> result;
  for (const OracleOutput& output : hypotheses.front()) result.push_back(output.sequential);
  const Fingerprint print = fingerprint(problem, result, hypotheses);
  EXPECT_EQ("fp32", print.name());
  EXPECT_TRUE(print.consistent_with(OperandRounding::tf32_rz)) << "indistinguishable here";
}

TEST(Fingerprint, OperandsBeyondFp16DoNotHideTheArithmetic) {
  const Problem problem = sums(16, 300);
  Recipes recipes = tie_recipes(problem, 5);
  recipes.input.scale = 0x1p20f;
  const SyntheticReference synthetic(problem, recipes);
  const std::vector<std::int64_t> outputs = sample_outputs(problem, 300, 1);
  const Fingerprint print = fingerprint(problem, synthetic.compute(outputs, OperandRounding::exact, Adding::chain),
                                        synthetic.hypotheses(outputs));
  EXPECT_EQ("fp32", print.name());
  EXPECT_FALSE(print.consistent_with(OperandRounding::fp16));
}

TEST(Fingerprint, OfFloat64) {
  Problem problem = sums(64, 300);
  problem.dtype = problem.out_dtype = DType::float64;
  problem.contract = Contract::fp64;
  const std::unique_ptr<Session> session = Session::open(problem, Device{});
  session->fill(tie_recipes(problem, 1));
  execute(*session, session->engine());
  const std::vector<std::int64_t> outputs = fingerprint_samples(problem, 1);
  std::vector<double> result = session->gather(outputs).values;
  EXPECT_EQ("fp64", fingerprint_of(*session, outputs, result).name());
  for (double& value : result) value = static_cast<float>(value * (1 + 1e-9));
  EXPECT_EQ("unknown", fingerprint_of(*session, outputs, result).name()) << "sums of binary32 are no sums of binary64";
}

}  // namespace
}  // namespace tapconv
