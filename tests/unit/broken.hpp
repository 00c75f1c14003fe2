#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "definition.hpp"

namespace tapconv::testing {

/// What goes wrong in a naive convolution. Of those with a number it is in Broken::amount.
enum class Fault {
  none,
  // filters
  kernel_flipped,
  kernel_flipped_w,
  taps_transposed,
  channels_swapped,
  weights_of_other_layout,
  tap_skipped,      // amount: -1 the last, else its linear index
  tap_row_skipped,  // amount: -1 the last row along the first axis, else its index
  channel_skipped,  // amount: -1 the last, else its index in the group
  reduction_cut,    // amount: products that are summed, channels outside taps
  reduction_late,   // amount: products that are not
  // parameters
  padding_swapped,
  padding_shifted,  // amount: added to that before the first position, along the last axis
  padding_ignored,
  padding_mode,  // amount: the mode used
  padding_unchecked,
  padding_not_multiplied,
  padding_not_complemented,
  output_padding_side,
  dilation_shifted,  // amount: added, along every axis with several taps
  dilation_ignored,
  stride_ignored,
  stride_phase,  // amount
  strides_exchanged,
  dilations_exchanged,
  paddings_exchanged,
  // channels
  groups_interleaved_input,
  groups_ignored,
  group_filters_ignored,
  groups_modulo,
  groups_interleaved_output,
  depthwise_interleaved,
  // epilogue
  bias_missing,
  bias_doubled,
  bias_of_next,
  bias_after_activation,
  depthwise_bias_missing,
  residual_missing,
  residual_after_activation,
  activation,   // amount: the activation used
  scaled,       // factor
  accumulated,  // onto the earlier output
  // places
  layout_swapped,
  input_layout_swapped,
  output_axes_swapped,
  input_axes_swapped,
  mirrored,       // amount: axis of the output
  rotated,        // amount: axis of the output
  shifted,        // amount: axis of the output; the last position keeps zero
  permuted,       // amount: axis of the output; blocks of 2
  index_ignored,  // amount: axis of the output
  phases_contiguous,
  // arithmetic
  operands_rounded,   // amount: the rounding
  output_rounded,     // amount: the type
  accumulated_short,  // amount: the type
  accumulated_truncated,
};

/// A fault in a problem.
struct Broken {
  Fault fault = Fault::none;
  int amount = 0;
  double factor = 1;
};

/// Operands of the problem's type, uniform in (-1, 1).
inline DefinitionOperands real_operands(const Problem& p, std::uint64_t seed) {
  DefinitionOperands operands(p, seed);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 12345;
  for (Grid* grid : {&operands.input, &operands.weight, &operands.bias, &operands.pointwise_weight,
                     &operands.pointwise_bias, &operands.residual}) {
    for (double& value : grid->values) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double unit = static_cast<double>(state >> 11) * 0x1p-53;
      value = round_to(2 * unit - 1, grid == &operands.residual ? p.out_dtype : p.dtype);
    }
  }
  return operands;
}

/// A convolution by loops over outputs, channels and taps, with a fault.
class NaiveConvolution {
 public:
  using Index = std::vector<std::int64_t>;

  NaiveConvolution(const Problem& problem, const Broken& broken) : p_(problem), broken_(broken), moved_(problem) {
    change_parameters();
  }

  [[nodiscard]] Grid operator()(Grid x, Grid w) const {
    if (is(Fault::input_layout_swapped)) x = reread(x, p_.layout, other_layout());
    if (is(Fault::weights_of_other_layout)) w = reread(w, p_.layout, other_layout());
    Grid y(output_shape(p_));
    std::size_t i = 0;
    for_each_index(y.shape, [&](const Index& at) { y.values[i++] = sum(x, w, at); });
    return y;
  }

  /// The values in memory in one layout, read as if they lay in another.
  static Grid reread(const Grid& grid, Layout written, Layout read) {
    const Index from = strides_of(grid.shape, written), to = strides_of(grid.shape, read);
    std::vector<double> memory(grid.values.size());
    std::size_t i = 0;
    for_each_index(grid.shape, [&](const Index& at) { memory[place(at, from)] = grid.values[i++]; });
    Grid result(grid.shape);
    i = 0;
    for_each_index(grid.shape, [&](const Index& at) { result.values[i++] = memory[place(at, to)]; });
    return result;
  }

  [[nodiscard]] Layout other_layout() const {
    return p_.layout == Layout::contiguous ? Layout::channels_last : Layout::contiguous;
  }

 private:
  [[nodiscard]] bool is(Fault fault) const { return broken_.fault == fault; }

  static std::size_t place(const Index& at, const Index& strides) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[i];
    return static_cast<std::size_t>(sum);
  }

  void change_parameters() {
    const int last = p_.rank - 1;
    for (int axis = 0; axis < p_.rank; ++axis) {
      std::int64_t& low = moved_.padding_lo[axis];
      if (is(Fault::padding_swapped)) low = p_.padding_hi[axis];
      if (is(Fault::padding_ignored)) low = 0;
      if (is(Fault::stride_ignored)) moved_.stride[axis] = 1;
      if (is(Fault::dilation_ignored)) moved_.dilation[axis] = 1;
      if (is(Fault::output_padding_side)) low -= p_.output_padding[axis];
      if (is(Fault::padding_not_complemented)) low = p_.dilation[axis] * (p_.kernel[axis] - 1) - low;
      if (is(Fault::stride_phase) && p_.stride[axis] > broken_.amount) low -= broken_.amount;
      if (is(Fault::dilation_shifted) && p_.kernel[axis] > 1) moved_.dilation[axis] += broken_.amount;
    }
    if (is(Fault::padding_shifted)) moved_.padding_lo[last] += broken_.amount;
    if (is(Fault::padding_mode)) moved_.padding_mode = static_cast<PaddingMode>(broken_.amount);
    if (is(Fault::strides_exchanged)) std::swap(moved_.stride[0], moved_.stride[1]);
    if (is(Fault::dilations_exchanged)) std::swap(moved_.dilation[0], moved_.dilation[1]);
    if (is(Fault::paddings_exchanged)) std::swap(moved_.padding_lo[0], moved_.padding_lo[1]);
  }

  /// The input at a position along every axis, which may lie outside; nothing where an honest zero is left out.
  [[nodiscard]] std::optional<double> read(const Grid& x, Index at) const {
    bool unchecked = false;
    for (int axis = 0; axis < p_.rank; ++axis) {
      std::int64_t& position = at[static_cast<std::size_t>(axis) + 2];
      const std::int64_t size = p_.input[axis];
      if (position >= 0 && position < size) continue;
      if (is(Fault::padding_not_multiplied)) return std::nullopt;
      if (is(Fault::padding_unchecked)) {
        unchecked = true;
        continue;
      }
      switch (moved_.padding_mode) {
        case PaddingMode::zeros:
          return 0;
        case PaddingMode::reflect:
          position = position < 0 ? -position : 2 * (size - 1) - position;
          break;
        case PaddingMode::replicate:
          position = position < 0 ? 0 : size - 1;
          break;
        case PaddingMode::circular:
          position = (position + 8 * size) % size;
          break;
      }
      if (position < 0 || position >= size) return 0;
    }
    if (is(Fault::input_axes_swapped)) {
      const std::size_t h = at.size() - 2, w = at.size() - 1;
      const std::int64_t element = at[w] * x.shape[h] + at[h];
      at[h] = element / x.shape[w];
      at[w] = element % x.shape[w];
    }
    std::int64_t linear = 0;
    for (std::size_t i = 0; i < at.size(); ++i) linear = linear * x.shape[i] + at[i];
    if (unchecked && (linear < 0 || linear >= static_cast<std::int64_t>(x.values.size()))) return 0;
    return x.values.at(static_cast<std::size_t>(linear));
  }

  /// The weight of output channel k, input channel c of its group, and a tap.
  [[nodiscard]] double weight(const Grid& w, std::int64_t k, std::int64_t c, Index tap) const {
    const std::int64_t in = p_.in_channels / p_.groups, out = p_.out_channels / p_.groups;
    if (is(Fault::group_filters_ignored)) k %= out;
    const std::size_t axes = tap.size();
    if (is(Fault::kernel_flipped)) {
      for (std::size_t axis = 0; axis < axes; ++axis) tap[axis] = p_.kernel[axis] - 1 - tap[axis];
    }
    if (is(Fault::kernel_flipped_w)) tap[axes - 1] = p_.kernel[axes - 1] - 1 - tap[axes - 1];
    Index at{k, c};
    if (p_.kind == Kind::transposed) at = {k / out * in + c, k % out};
    at.insert(at.end(), tap.begin(), tap.end());
    std::int64_t linear = 0;
    if (is(Fault::taps_transposed)) {
      for (std::size_t i = 0; i + 2 < at.size(); ++i) linear = linear * w.shape[i] + at[i];
      linear = (linear * w.shape[axes + 1] + at[axes + 1]) * w.shape[axes] + at[axes];
    } else if (is(Fault::channels_swapped)) {
      linear = at[1] * w.shape[0] + at[0];
      for (std::size_t i = 2; i < at.size(); ++i) linear = linear * w.shape[i] + at[i];
    } else {
      for (std::size_t i = 0; i < at.size(); ++i) linear = linear * w.shape[i] + at[i];
    }
    return w.values.at(static_cast<std::size_t>(linear));
  }

  [[nodiscard]] bool skips(std::int64_t c, const Index& tap, std::int64_t product) const {
    const auto hits = [&](std::int64_t index, std::int64_t size) {
      return index == (broken_.amount < 0 ? size - 1 : broken_.amount);
    };
    std::int64_t linear = 0, taps = 1;
    for (std::size_t axis = 0; axis < tap.size(); ++axis) {
      linear = linear * p_.kernel[axis] + tap[axis];
      taps *= p_.kernel[axis];
    }
    return (is(Fault::tap_skipped) && hits(linear, taps)) ||
           (is(Fault::tap_row_skipped) && hits(tap[0], p_.kernel[0])) ||
           (is(Fault::channel_skipped) && hits(c, p_.in_channels / p_.groups)) ||
           (is(Fault::reduction_cut) && product >= broken_.amount) ||
           (is(Fault::reduction_late) && product < broken_.amount);
  }

  [[nodiscard]] std::int64_t input_channel(std::int64_t k, std::int64_t c) const {
    const std::int64_t in = p_.in_channels / p_.groups, group = k / (p_.out_channels / p_.groups);
    if (is(Fault::groups_interleaved_input)) return c * p_.groups + group;
    if (is(Fault::groups_ignored)) return c;
    if (is(Fault::groups_modulo)) return k % p_.groups * in + c;
    return group * in + c;
  }

  [[nodiscard]] double rounded(double operand) const {
    const OperandRounding rounding = is(Fault::operands_rounded) ? static_cast<OperandRounding>(broken_.amount)
                                                                 : operand_rounding(p_.contract, p_.tie_rule);
    return rounding == OperandRounding::exact ? operand : round_operand(static_cast<float>(operand), rounding);
  }

  [[nodiscard]] double sum(const Grid& x, const Grid& w, const Index& at) const {
    double total = 0;
    std::int64_t product = 0;
    Index box{p_.in_channels / p_.groups};
    for (int axis = 0; axis < p_.rank; ++axis) box.push_back(p_.kernel[axis]);
    for_each_index(box, [&](const Index& term) {
      const Index tap(term.begin() + 1, term.end());
      Index from{at[0], input_channel(at[1], term[0])};
      for (int axis = 0; axis < p_.rank; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const std::int64_t reach = tap[a] * moved_.dilation[axis];
        if (p_.kind == Kind::transposed) {
          const std::int64_t far = at[a + 2] + moved_.padding_lo[axis] - reach;
          if (far % moved_.stride[axis] != 0) return;
          from.push_back(far / moved_.stride[axis]);
        } else {
          from.push_back(at[a + 2] * moved_.stride[axis] - moved_.padding_lo[axis] + reach);
        }
      }
      if (skips(term[0], tap, product++)) return;
      if (const auto value = read(x, from)) add(total, rounded(*value) * rounded(weight(w, at[1], term[0], tap)));
    });
    return total;
  }

  void add(double& total, double product) const {
    if (is(Fault::accumulated_short)) {
      total = round_to(total + product, static_cast<DType>(broken_.amount));
    } else if (is(Fault::accumulated_truncated)) {
      const double exact = total + product;
      auto down = static_cast<float>(exact);
      if (std::abs(static_cast<double>(down)) > std::abs(exact)) down = std::nextafter(down, 0.0f);
      total = down;
    } else {
      total += product;
    }
  }

  Problem p_;
  Broken broken_;
  Problem moved_;
};

}  // namespace tapconv::testing
