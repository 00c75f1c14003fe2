#include "oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "oracle/stage.hpp"
#include "problem/parallel.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

/// Where an output lies: its image, output channel (over all groups) and position (D, H, W).
struct Place {
  std::int64_t image = 0, channel = 0;
  std::array<std::int64_t, 3> position{0, 0, 0};
};

Place place_of(const Problem& problem, const Extent& extent, std::int64_t output) {
  Place place;
  for (int axis = problem.rank - 1; axis >= 0; --axis) {
    place.position[max_rank - problem.rank + axis] = output % extent[axis];
    output /= extent[axis];
  }
  place.channel = output % problem.out_channels;
  place.image = output / problem.out_channels;
  return place;
}

/// The oracle of one problem. `Chain` is float, or double for float64 operands.
template <class Chain>
class Oracle {
 public:
  Oracle(const Problem& problem, const Operands& operands, OperandRounding rounding)
      : problem_(problem),
        operands_(operands),
        rounding_(rounding),
        separable_(problem.kind == Kind::depthwise_separable),
        extent_(output_extent(problem)),
        output_(lower_channels(stages(problem).back()).output),
        first_(stages(problem).front()) {}

  [[nodiscard]] OracleOutput operator()(std::int64_t output) const {
    const Place place = place_of(problem_, extent_, output);
    PartialOutput<Chain> sum = separable_ ? pointwise(place) : plain(place);
    if (problem_.bias) {
      const auto& bias = separable_ ? operands_.pointwise_bias : operands_.bias;
      sum.add_term(load_element(bias.data(), problem_.dtype, place.channel));
    }
    if (problem_.residual) {
      const double residual = load_element(operands_.residual.data(), problem_.out_dtype, offset(place));
      sum.add_term(residual);
      sum.products += residual != 0.0;
    }
    const auto act = [&](double value) { return activate(problem_.activation, value, problem_.negative_slope); };
    OracleOutput out{.value = 0,
                     .sum = sum.sum.value(),
                     .magnitude = sum.magnitude,
                     .products = sum.products,
                     .sequential = round_to(static_cast<Chain>(act(sum.sequential)), problem_.out_dtype)};
    out.value = act(out.sum);
    out.may_overflow = sum.may_overflow || overflows(sum.magnitude);
    return out;
  }

 private:
  [[nodiscard]] PartialOutput<Chain> plain(const Place& place) const {
    return first_.evaluate(operands_.input.data(), operands_.weight.data(), place.image, place.channel, place.position,
                           rounding_);
  }

  /// The sum over the depthwise outputs at the same position. Nothing is rounded on the way to them.
  [[nodiscard]] PartialOutput<Chain> pointwise(const Place& place) const {
    PartialOutput<Chain> out;
    const std::int64_t channels = problem_.in_channels * problem_.depth_multiplier;
    const std::vector<std::int64_t> strides = strides_of(pointwise_weight_shape(problem_), problem_.layout);
    std::int64_t most_products = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      PartialOutput<Chain> inner = first_.evaluate(operands_.input.data(), operands_.weight.data(), place.image, c,
                                                   place.position, OperandRounding::exact);
      if (problem_.bias) inner.add_term(load_element(operands_.bias.data(), problem_.dtype, c));
      const Chain w =
          first_.load(operands_.pointwise_weight.data(), place.channel * strides[0] + c * strides[1], rounding_);
      const double x = rounded(inner.sum.value());
      out.sum.add_product(x, w);
      // Where the value between underflows its rounding is coarser than a share of S: 2^-137 at most, which is 2^-10 of
      // the term added here; and each product may have lost 2^-149, which is 2^-24 of it.
      const double underflow = inner.magnitude > 0 ? 0x1p-125 * static_cast<double>(inner.products + 1) : 0;
      out.add_magnitude((inner.magnitude + underflow) * w);
      out.products += x * w != 0.0;
      out.sequential = std::fma(static_cast<Chain>(rounded(inner.sequential)), w, out.sequential);
      most_products = std::max(most_products, inner.products);
      out.may_overflow = out.may_overflow || overflows(inner.magnitude);
    }
    out.products += most_products;
    return out;
  }

  [[nodiscard]] static bool overflows(double magnitude) {
    return magnitude > static_cast<double>(std::numeric_limits<Chain>::max());
  }

  [[nodiscard]] double rounded(double value) const {
    if (rounding_ == OperandRounding::exact) return value;
    return round_operand(static_cast<float>(value), rounding_);
  }

  /// Where the output lies in memory.
  [[nodiscard]] std::int64_t offset(const Place& place) const {
    std::int64_t index = place.image * output_.outer + place.channel * output_.inner;
    for (int i = 0; i < 3; ++i) index += place.position[i] * output_.axis[i];
    return index;
  }

  const Problem& problem_;
  const Operands& operands_;
  OperandRounding rounding_;
  bool separable_;
  Extent extent_;
  TapStrides output_;
  StageOracle<Chain> first_;
};

void expect_size(const char* field, std::span<const std::byte> tensor, DType dtype, std::int64_t expected) {
  const auto size = static_cast<std::int64_t>(tensor.size() / element_bytes(dtype));
  if (size != expected || tensor.size() % element_bytes(dtype) != 0)
    fail(ErrorCode::usage, "{} has {} bytes; the problem needs {} elements of {}", field, tensor.size(), expected,
         name(dtype));
}

void expect_operands(const Problem& problem, const Operands& operands) {
  const bool separable = problem.kind == Kind::depthwise_separable;
  const std::int64_t outputs = element_count(output_shape(problem));
  expect_size("input", operands.input, problem.dtype, element_count(input_shape(problem)));
  expect_size("weight", operands.weight, problem.dtype, element_count(weight_shape(problem)));
  expect_size("bias", operands.bias, problem.dtype, bias_count(problem));
  expect_size("pointwise_weight", operands.pointwise_weight, problem.dtype,
              separable ? element_count(pointwise_weight_shape(problem)) : 0);
  expect_size("pointwise_bias", operands.pointwise_bias, problem.dtype, pointwise_bias_count(problem));
  expect_size("residual", operands.residual, problem.out_dtype, problem.residual ? outputs : 0);
}

template <class Chain>
std::vector<OracleOutput> evaluate_all(const Problem& problem, const Operands& operands,
                                       std::span<const std::int64_t> outputs, OperandRounding rounding) {
  const Oracle<Chain> evaluate(problem, operands, rounding);
  std::vector<OracleOutput> results(outputs.size());
  parallel_for(static_cast<std::int64_t>(outputs.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) results[i] = evaluate(outputs[i]);
  });
  return results;
}

/// What rounding the value between the halves of a depthwise separable problem may add, as a share of S.
double intermediate_rounding(Contract contract) {
  switch (contract) {
    case Contract::ieee:
    case Contract::fp32:
      return 0x1p-24;
    case Contract::tf32:
      return 0x1p-10;
    case Contract::fp16:
      return 0x1p-11;
    case Contract::bf16:
      return 0x1p-8;
    case Contract::fp64:
      return 0x1p-53;
  }
  return 0;
}

}  // namespace

std::vector<OracleOutput> oracle(const Problem& problem, const Operands& operands,
                                 std::span<const std::int64_t> outputs, OperandRounding rounding) {
  expect_operands(problem, operands);
  const std::int64_t total = element_count(output_shape(problem));
  for (const std::int64_t output : outputs) {
    if (output < 0 || output >= total) fail(ErrorCode::usage, "output index = {}; valid: 0 to {}", output, total - 1);
  }
  return problem.dtype == DType::float64 ? evaluate_all<double>(problem, operands, outputs, rounding)
                                         : evaluate_all<float>(problem, operands, outputs, rounding);
}

double allowed_error(const Problem& problem, const OracleOutput& expected) {
  if (expected.magnitude == 0) return 0;
  double sum_error = error_bound(problem.contract, expected.products, expected.magnitude);
  if (problem.kind == Kind::depthwise_separable) {
    sum_error = error_bound(problem.contract, expected.products + 10, expected.magnitude) +
                intermediate_rounding(problem.contract) * expected.magnitude;
  }
  const double error = activated_error(problem.activation, expected.sum, sum_error, problem.negative_slope);
  if (element_bytes(problem.out_dtype) != 2) return error;
  // A value beyond the type's range rounds to its largest number at best.
  const double largest = problem.out_dtype == DType::float16 ? 65504 : 0x1.fep127;
  return error + half_spacing(std::min(std::abs(expected.value) + error, largest), problem.out_dtype);
}

}  // namespace tapconv
