#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "problem/element_places.hpp"
#include "problem/parallel.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv::testing {

/// A product of an output's sum.
struct Term {
  float x, w;
};

/// How a sum is computed.
struct Manner {
  enum class Order { forward, backward, shuffled, blocked, pairwise, three_tf32 };
  Order order = Order::forward;
  std::size_t block = 8;                      ///< of blocked sums, and between promotions of three_tf32
  std::optional<OperandRounding> rounding{};  ///< in the place of the contract's
};

/// A chain of fused multiply-adds.
inline float chain(const std::vector<Term>& terms, std::size_t begin, std::size_t end) {
  float sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum = std::fma(terms[i].x, terms[i].w, sum);
  return sum;
}

inline float pairwise(const std::vector<Term>& terms, std::size_t begin, std::size_t end) {
  if (end - begin == 1) return terms[begin].x * terms[begin].w;
  const std::size_t middle = begin + (end - begin) / 2;
  return pairwise(terms, begin, middle) + pairwise(terms, middle, end);
}

/// A number cut to 24 significant bits.
inline float truncated(double value) {
  const auto nearest = static_cast<float>(value);
  return std::abs(static_cast<double>(nearest)) > std::abs(value) ? std::nextafterf(nearest, 0) : nearest;
}

/// Three TF32 products a term, added eight at a time by truncation, as tensor cores do; partial sums are promoted.
inline float three_tf32(const std::vector<Term>& terms, std::size_t promotion) {
  const auto tf32 = [](float value) { return round_operand(value, OperandRounding::tf32_rna); };
  float sum = 0, part = 0, corrections = 0;
  for (std::size_t begin = 0; begin < terms.size(); begin += 8) {
    for (int product = 0; product < 3; ++product) {
      float& target = product == 2 ? part : corrections;
      double exact = target;
      for (std::size_t i = begin; i < std::min(begin + 8, terms.size()); ++i) {
        const float x = tf32(terms[i].x), w = tf32(terms[i].w);
        const float x_low = tf32(terms[i].x - x), w_low = tf32(terms[i].w - w);
        exact += product == 0   ? static_cast<double>(x_low) * w
                 : product == 1 ? static_cast<double>(x) * w_low
                                : static_cast<double>(x) * w;
      }
      target = truncated(exact);
    }
    if (begin / 8 % promotion == promotion - 1) {
      sum += part + corrections;
      part = corrections = 0;
    }
  }
  sum += part + corrections;
  return std::isfinite(sum) ? sum : chain(terms, 0, terms.size());
}

inline float sum_of(std::vector<Term>& terms, const Manner& manner) {
  using Order = Manner::Order;
  if (terms.empty()) return 0;
  switch (manner.order) {
    case Order::forward:
      return chain(terms, 0, terms.size());
    case Order::backward:
      std::ranges::reverse(terms);
      return chain(terms, 0, terms.size());
    case Order::shuffled:
      std::shuffle(terms.begin(), terms.end(), std::mt19937(static_cast<unsigned>(manner.block)));
      return chain(terms, 0, terms.size());
    case Order::blocked: {
      float sum = 0;
      for (std::size_t begin = 0; begin < terms.size(); begin += manner.block)
        sum += chain(terms, begin, std::min(begin + manner.block, terms.size()));
      return sum;
    }
    case Order::pairwise:
      return pairwise(terms, 0, terms.size());
    case Order::three_tf32:
      return three_tf32(terms, manner.block);
  }
  return 0;
}

/// A tensor's elements in the order of their indices, as binary32.
inline std::vector<float> floats_of(const TensorView& view) {
  std::vector<float> values;
  std::vector<std::int64_t> index(view.shape.size(), 0);
  const std::int64_t count = element_count(view.shape);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place += index[axis] * view.strides[axis];
    values.push_back(static_cast<float>(load_element(view.data, view.dtype, place)));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return values;
}

/// The input position that a tap of an output meets along one axis, by PyTorch's definition; -1 for padding, nothing if
/// they do not meet (transposed).
inline std::optional<std::int64_t> met(const Problem& p, int axis, std::int64_t output, std::int64_t tap) {
  if (p.kind == Kind::transposed) {
    const std::int64_t far = output + p.padding_lo[axis] - tap * p.dilation[axis];
    if (far % p.stride[axis] != 0) return std::nullopt;
    const std::int64_t at = far / p.stride[axis];
    return at >= 0 && at < p.input[axis] ? at : -1;
  }
  std::int64_t at = output * p.stride[axis] + tap * p.dilation[axis] - p.padding_lo[axis];
  const std::int64_t size = p.input[axis];
  if (at >= 0 && at < size) return at;
  switch (p.padding_mode) {
    case PaddingMode::zeros:
      return -1;
    case PaddingMode::reflect:
      return at < 0 ? -at : 2 * (size - 1) - at;
    case PaddingMode::replicate:
      return at < 0 ? 0 : size - 1;
    case PaddingMode::circular:
      return at < 0 ? at + size : at - size;
  }
  return std::nullopt;
}

/// The sums of a plain problem, in binary32. `rounding` of both operands.
inline std::vector<float> sums_of(const Problem& p, const std::vector<float>& input, const std::vector<float>& weight,
                                  const Manner& manner, OperandRounding rounding) {
  const std::int64_t group_in = p.in_channels / p.groups, group_out = p.out_channels / p.groups;
  const std::int64_t taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  const std::int64_t in_size = p.input[0] * p.input[1] * p.input[2];
  const Extent extent = output_extent(p);
  const std::int64_t out_size = extent[0] * extent[1] * extent[2];
  std::vector<float> sums(static_cast<std::size_t>(p.batch * p.out_channels * out_size));
  parallel_for(std::ssize(sums), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Term> terms;
    for (std::int64_t o = begin; o < end; ++o) {
      const std::int64_t n = o / out_size / p.out_channels, k = o / out_size % p.out_channels;
      const std::int64_t q[3] = {o % out_size / (extent[1] * extent[2]), o / extent[2] % extent[1], o % extent[2]};
      terms.clear();
      for (std::int64_t c = 0; c < group_in; ++c) {
        const std::int64_t channel = k / group_out * group_in + c;
        for (std::int64_t t = 0; t < taps; ++t) {
          const std::int64_t tap[3] = {t / (p.kernel[1] * p.kernel[2]), t / p.kernel[2] % p.kernel[1], t % p.kernel[2]};
          std::int64_t at = 0;
          bool inside = true, meets = true;
          for (int axis = 0; axis < 3; ++axis) {
            const auto position = met(p, axis, q[axis], tap[axis]);
            meets = meets && position.has_value();
            inside = inside && position.value_or(-1) >= 0;
            at = at * p.input[axis] + position.value_or(0);
          }
          if (!meets) continue;
          const std::int64_t w = p.kind == Kind::transposed ? (channel * group_out + k % group_out) * taps + t
                                                            : (k * group_in + c) * taps + t;
          const std::int64_t x = (n * p.in_channels + channel) * in_size + at;
          terms.push_back({inside ? round_operand(input[static_cast<std::size_t>(x)], rounding) : 0.0f,
                           round_operand(weight[static_cast<std::size_t>(w)], rounding)});
        }
      }
      sums[static_cast<std::size_t>(o)] = sum_of(terms, manner);
    }
  });
  return sums;
}

inline void add_bias(std::vector<float>& sums, const Problem& p, const std::vector<float>& bias) {
  const std::int64_t size = std::ssize(sums) / p.batch / p.out_channels;
  for (std::int64_t i = 0; i < std::ssize(sums); ++i)
    sums[static_cast<std::size_t>(i)] += bias[static_cast<std::size_t>(i / size % p.out_channels)];
}

/// Any problem but those of float64, by its definition. Extents beyond the rank are 1, as in Problem.
inline void compute_in(const Manner& manner, const Problem& problem, const HostViews& tensors) {
  const std::vector<Problem> parts = stages(problem);
  const OperandRounding declared = operand_rounding(problem.contract, problem.tie_rule);
  const OperandRounding rounding = manner.rounding.value_or(declared);
  std::vector<float> sums = sums_of(parts[0], floats_of(tensors.input), floats_of(tensors.weight), manner,
                                    parts.size() == 1 ? rounding : manner.rounding.value_or(OperandRounding::exact));
  if (tensors.bias) add_bias(sums, parts[0], floats_of(*tensors.bias));
  if (parts.size() > 1) {
    sums = sums_of(parts[1], sums, floats_of(*tensors.pointwise_weight), manner, rounding);
    if (tensors.pointwise_bias) add_bias(sums, parts[1], floats_of(*tensors.pointwise_bias));
  }
  if (tensors.residual) {
    const std::vector<float> residual = floats_of(*tensors.residual);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += residual[i];
  }
  const ElementPlaces place(tensors.output.shape, problem.layout);
  for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
    const double value = activate(problem.activation, sums[static_cast<std::size_t>(i)], problem.negative_slope);
    store_element(tensors.output.data, problem.out_dtype, place(i), static_cast<float>(value));
  }
}

/// An honest subject, or with Manner::rounding a dishonest one.
inline HostFunction subject_in(const Manner& manner, const char* name = "subject") {
  return {name, [manner](const Problem& problem, const HostViews& tensors) { compute_in(manner, problem, tensors); }};
}

/// Checks a function by the named stages, or all; always on the same numbers.
inline CheckReport check_function(const Problem& problem, HostFunction function, std::vector<std::string> stages = {}) {
  CheckRequest request;
  request.problem = problem;
  request.function = std::move(function);
  request.stages = std::move(stages);
  request.secret_seed = 1;
  return check(request);
}

/// The named stage of a report.
inline const CheckStage& stage_of(const CheckReport& report, std::string_view name) {
  return *std::ranges::find(report.stages, name, &CheckStage::name);
}

}  // namespace tapconv::testing
