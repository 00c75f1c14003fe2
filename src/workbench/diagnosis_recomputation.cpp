#include "workbench/diagnosis_recomputation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/stage.hpp"
#include "problem/lowering.hpp"

namespace tapconv {
namespace {

/// A tap that meets an input position (which may lie outside) along one axis.
struct Meeting {
  std::int64_t tap, position;
};

std::vector<Meeting> meetings(const Problem& p, int axis, std::int64_t output) {
  std::vector<Meeting> all;
  if (p.kind != Kind::transposed) {
    const std::int64_t start = output * p.stride[axis] - p.padding_lo[axis];
    for (std::int64_t tap = 0; tap < p.kernel[axis]; ++tap) all.push_back({tap, start + tap * p.dilation[axis]});
    return all;
  }
  // Taps that reach an output are stride / gcd(stride, dilation) apart.
  const std::int64_t far = output + p.padding_lo[axis];
  const std::int64_t apart = p.stride[axis] / std::gcd(p.stride[axis], p.dilation[axis]);
  std::int64_t first = 0;
  while (first < std::min(apart, p.kernel[axis]) && (far - first * p.dilation[axis]) % p.stride[axis] != 0) ++first;
  if (first == std::min(apart, p.kernel[axis])) return all;
  const std::int64_t count = (p.kernel[axis] - 1 - first) / apart + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t tap = first + i * apart;
    all.push_back({tap, (far - tap * p.dilation[axis]) / p.stride[axis]});
  }
  return all;
}

bool inside(const Place& place, const Place& shape) {
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0 || place[i] >= shape[i]) return false;
  }
  return true;
}

}  // namespace

Place whole_shape(const std::vector<std::int64_t>& shape) {
  Place whole{1, 1, 1, 1, 1};
  std::copy_n(shape.begin(), 2, whole.begin());
  std::copy(shape.begin() + 2, shape.end(), whole.end() - static_cast<std::ptrdiff_t>(shape.size() - 2));
  return whole;
}

Place place_of(std::int64_t index, const Place& shape) { return place_in(contiguous_order, shape, index); }

std::int64_t index_of(const Place& place, const Place& shape) {
  return element_of(place, strides_in(contiguous_order, shape));
}

Place strides_in(const AxisOrder& order, const Place& shape) {
  Place strides{};
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = stride;
    stride *= shape[order[i]];
  }
  return strides;
}

Place place_in(const AxisOrder& order, const Place& shape, std::int64_t element) {
  Place place{};
  for (std::size_t i = order.size(); i-- > 0;) {
    place[order[i]] = element % shape[order[i]];
    element /= shape[order[i]];
  }
  return place;
}

/// A sum in the making; compensated, which float64 operands need.
struct Recomputation::Sum {
  ExactSum<true> sum;
  double magnitude = 0;
  std::int64_t products = 0;

  void add_product(double x, double w) {
    sum.add_product(x, w);
    add_magnitude(x * w);
    products += x * w != 0;
  }
  void add_term(double term) {
    sum.add(term);
    add_magnitude(term);
  }
  void add_magnitude(double term) {
    if (std::isfinite(term)) magnitude += std::abs(term);
  }
};

Recomputation::Recomputation(const Problem& asked, const Variant& variant, const Operands& operands)
    : variant_(variant),
      operands_(operands),
      filter_(stages(variant.problem).front()),
      separable_(asked.kind == Kind::depthwise_separable),
      input_shape_(whole_shape(input_shape(filter_))),
      input_strides_(strides_in(variant.input_order.value_or(order_of(asked.layout)), input_shape_)),
      weight_shape_(whole_shape(weight_shape(filter_))),
      weight_strides_(strides_in(variant.weight_order.value_or(order_of(asked.layout)), weight_shape_)),
      pointwise_strides_(strides_in(order_of(asked.layout), whole_shape(pointwise_weight_shape(asked)))),
      output_strides_(strides_in(order_of(asked.layout), whole_shape(output_shape(asked)))),
      input_count_(element_count(input_shape(filter_))) {}

std::optional<OracleOutput> Recomputation::operator()(const Place& place) const {
  const std::optional<Place> source = variant_.source ? variant_.source(place) : place;
  if (!source) return std::nullopt;
  Sum sum;
  std::int64_t before = 0;
  bool may_overflow = false;
  constexpr double largest = std::numeric_limits<float>::max();
  if (separable_) {
    for_each_pointwise_factor(*source, [&](const Term&, const Sum& inner, double x, double w) {
      sum.sum.add_product(x, w);
      // As the oracle has it: what rounding the value between may lose where it underflows.
      const double underflow = inner.magnitude > 0 ? 0x1p-125 * static_cast<double>(inner.products + 1) : 0;
      sum.add_magnitude((inner.magnitude + underflow) * w);
      sum.products += x * w != 0;
      before = std::max(before, inner.products);
      may_overflow = may_overflow || inner.magnitude > largest;
    });
  } else {
    for_each_factor(*source, false, variant_.rounding, [&](const Term&, double x, double w) { sum.add_product(x, w); });
  }
  Epilogue end = epilogue(*source, sum.sum.value());
  sum.add_term(end.bias);
  sum.add_term(end.residual);
  return OracleOutput{.value = finish(end),
                      .sum = sum.sum.value(),
                      .magnitude = sum.magnitude,
                      .products = sum.products + before + (end.residual != 0),
                      .sequential = 0,
                      .may_overflow = may_overflow || sum.magnitude > largest};
}

void Recomputation::for_each_product(const Place& place, const Visit& visit) const {
  if (separable_)
    for_each_pointwise_factor(place, [&](const Term& term, const Sum&, double x, double w) { visit(term, x * w); });
  else
    for_each_factor(place, false, variant_.rounding, [&](const Term& term, double x, double w) { visit(term, x * w); });
}

double Recomputation::finish(const Place& place, double sum) const { return finish(epilogue(place, sum)); }

double Recomputation::finish(const Epilogue& epilogue) const {
  if (variant_.finish) return variant_.finish(epilogue);
  return activate(variant_.problem.activation, epilogue.sum + epilogue.bias + epilogue.residual,
                  variant_.problem.negative_slope);
}

Epilogue Recomputation::epilogue(const Place& place, double sum) const {
  const Problem& p = variant_.problem;
  Epilogue end{.sum = sum};
  if (p.bias) {
    const auto& bias = separable_ ? operands_.pointwise_bias : operands_.bias;
    const std::int64_t channel = variant_.bias_channel ? variant_.bias_channel(place[1]) : place[1];
    end.bias = load_element(bias.data(), p.dtype, channel);
  }
  if (p.residual)
    end.residual = load_element(operands_.residual.data(), p.out_dtype, element_of(place, output_strides_));
  return end;
}

/// The terms of a sum over channels and taps, as the variant has them.
template <class Use>
void Recomputation::for_each_term(const Place& place, const Use& use) const {
  std::array<std::vector<Meeting>, max_rank> axis;
  axis.fill({{0, 0}});
  for (int i = 0; i < filter_.rank; ++i)
    axis[static_cast<std::size_t>(max_rank - filter_.rank + i)] = meetings(filter_, i, place[place_axis(filter_, i)]);
  const std::int64_t in = filter_.in_channels / filter_.groups, out = filter_.out_channels / filter_.groups;
  const std::int64_t first = place[1] / out * in;
  for (std::int64_t c = 0; c < in; ++c) {
    for (const Meeting& d : axis[0]) {
      for (const Meeting& h : axis[1]) {
        for (const Meeting& w : axis[2]) {
          Term term{.input = {place[0], first + c, d.position, h.position, w.position},
                    .filter = {place[1], c, d.tap, h.tap, w.tap}};
          use(term);
        }
      }
    }
  }
}

/// The factors of those products, each once, unless the variant leaves it out.
template <class Use>
void Recomputation::for_each_factor(const Place& place, bool depthwise, OperandRounding rounding,
                                    const Use& use) const {
  const bool transposed = filter_.kind == Kind::transposed;
  const std::int64_t in = filter_.in_channels / filter_.groups, out = filter_.out_channels / filter_.groups;
  for_each_term(place, [&](Term& term) {
    term.depthwise = depthwise;
    if (variant_.alter && !variant_.alter(term)) return;
    if (term.input[0] < 0 || term.input[0] >= input_shape_[0] || term.input[1] < 0 || term.input[1] >= input_shape_[1])
      return;
    Place filter = term.filter;
    if (transposed) {
      filter[0] = term.filter[0] / out * in + term.filter[1];
      filter[1] = term.filter[0] % out;
    }
    if (!inside(filter, weight_shape_)) return;
    use(term, input_value(term.input, rounding), load(operands_.weight, element_of(filter, weight_strides_), rounding));
  });
}

/// The same of the sum over the depthwise outputs at a place; use(term, depthwise sum, x, w).
template <class Use>
void Recomputation::for_each_pointwise_factor(const Place& place, const Use& use) const {
  for (std::int64_t c = 0; c < filter_.out_channels; ++c) {
    Term term{.input = place, .filter = {place[1], c, 0, 0, 0}};
    term.input[1] = c;
    if (variant_.alter && !variant_.alter(term)) continue;
    if (term.input[1] < 0 || term.input[1] >= filter_.out_channels || term.filter[1] < 0 ||
        term.filter[1] >= filter_.out_channels || term.filter[0] < 0 || term.filter[0] >= variant_.problem.out_channels)
      continue;
    Sum inner;
    for_each_factor(term.input, true, OperandRounding::exact,
                    [&](const Term&, double x, double w) { inner.add_product(x, w); });
    if (filter_.bias && variant_.depthwise_bias)
      inner.add_term(load_element(operands_.bias.data(), filter_.dtype, term.input[1]));
    double x = inner.sum.value();
    if (variant_.rounding != OperandRounding::exact) x = round_operand(static_cast<float>(x), variant_.rounding);
    use(term, inner, x,
        load(operands_.pointwise_weight, element_of(term.filter, pointwise_strides_), variant_.rounding));
  }
}

double Recomputation::input_value(const Place& position, OperandRounding rounding) const {
  Place source = position;
  for (std::size_t axis = 2; axis < source.size(); ++axis) {
    const std::int64_t size = input_shape_[axis];
    if (source[axis] >= 0 && source[axis] < size) continue;
    if (source[axis] < 0 ? variant_.unchecked_below[axis] : variant_.unchecked_above[axis]) continue;
    const auto inner = source_position(source[axis], size, variant_.problem.padding_mode);
    // A deviating problem may reach further than the padding mode can answer for.
    if (!inner || *inner < 0 || *inner >= size) return 0;
    source[axis] = *inner;
  }
  const std::int64_t element = element_of(source, input_strides_);
  return element >= 0 && element < input_count_ ? load(operands_.input, element, rounding) : 0;
}

double Recomputation::load(std::span<const std::byte> tensor, std::int64_t element, OperandRounding rounding) const {
  const double value = load_element(tensor.data(), variant_.problem.dtype, element);
  if (rounding == OperandRounding::exact || variant_.problem.dtype == DType::float64) return value;
  return round_operand(static_cast<float>(value), rounding);
}

}  // namespace tapconv
