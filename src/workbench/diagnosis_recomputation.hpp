#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "oracle/oracle.hpp"

namespace tapconv {

/// A place in a tensor with five axes: images, channels, D, H, W. Lower ranks have neutral leading spatial axes. Of a
/// filter: output channel, input channel of its group, and the tap.
using Place = std::array<std::int64_t, 5>;

/// The index in a Place of a problem's spatial axis.
[[nodiscard]] inline std::size_t place_axis(const Problem& problem, int axis) {
  return static_cast<std::size_t>(5 - problem.rank + axis);
}

/// A shape (N, C, spatial...) with all five axes.
[[nodiscard]] Place whole_shape(const std::vector<std::int64_t>& shape);

/// From a linear index, the last axis fastest, to the place, and back.
[[nodiscard]] Place place_of(std::int64_t index, const Place& shape);
[[nodiscard]] std::int64_t index_of(const Place& place, const Place& shape);

/// Which axis lies outermost in memory, and so on inwards.
using AxisOrder = std::array<std::size_t, 5>;
inline constexpr AxisOrder contiguous_order{0, 1, 2, 3, 4}, channels_last_order{0, 2, 3, 4, 1};
[[nodiscard]] inline const AxisOrder& order_of(Layout layout) {
  return layout == Layout::contiguous ? contiguous_order : channels_last_order;
}

/// Strides of a dense tensor whose axes lie in that order, and the place of the element there.
[[nodiscard]] Place strides_in(const AxisOrder& order, const Place& shape);
[[nodiscard]] Place place_in(const AxisOrder& order, const Place& shape, std::int64_t element);

[[nodiscard]] inline std::int64_t element_of(const Place& place, const Place& strides) {
  return std::inner_product(place.begin(), place.end(), strides.begin(), std::int64_t{0});
}

/// One product of a sum: where its operands are. `input` may lie outside; then it is what the padding mode says.
struct Term {
  Place input, filter;
  bool depthwise = false;  ///< of the depthwise half of a depthwise separable problem
};

/// What makes an output of a sum.
struct Epilogue {
  double sum = 0;  ///< of the products
  double bias = 0, residual = 0;
};

/// A computation that deviates from the problem that was asked for. Every member but `problem` stands for one
/// deviation; as they are there is none.
struct Variant {
  Problem problem;  ///< its sizes of tensors and its types are those of the problem that was asked for
  OperandRounding rounding = OperandRounding::exact;
  /// The place whose output stands at a place; nothing: whatever it is, it tells nothing.
  std::function<std::optional<Place>(const Place&)> source = {};
  /// Changes a term; false: it is left out. One that then lies outside the tensors is left out too.
  std::function<bool(Term&)> alter = {};
  std::optional<AxisOrder> input_order = {};   ///< in which the input's memory is read
  std::optional<AxisOrder> weight_order = {};  ///< the same of `weight`
  /// Along these axes of a Place positions before the first, or after the last, are read on in memory.
  std::array<bool, 5> unchecked_below{}, unchecked_above{};
  bool depthwise_bias = true;                                   ///< false: that of the depthwise half is left out
  std::function<std::int64_t(std::int64_t)> bias_channel = {};  ///< whose bias a channel gets
  std::function<double(const Epilogue&)> finish = {};           ///< in place of activation(sum + bias + residual)
};

/// Evaluates single outputs of a variant in fp64. Without a deviation it is oracle().
class Recomputation {
 public:
  using Visit = std::function<void(const Term&, double product)>;

  /// `asked` and `operands` belong together. All must outlive it.
  Recomputation(const Problem& asked, const Variant& variant, const Operands& operands);

  /// The output at a place, if the variant knows it; `sequential` is not set.
  [[nodiscard]] std::optional<OracleOutput> operator()(const Place& place) const;

  /// Visits the products of an output, of a depthwise separable problem those of the pointwise half: in each
  /// input channel all taps.
  void for_each_product(const Place& place, const Visit& visit) const;

  /// The output at a place whose products have this sum.
  [[nodiscard]] double finish(const Place& place, double sum) const;

 private:
  struct Sum;

  [[nodiscard]] Epilogue epilogue(const Place& place, double sum) const;
  [[nodiscard]] double finish(const Epilogue& epilogue) const;
  template <class Use>
  void for_each_term(const Place& place, const Use& use) const;
  template <class Use>
  void for_each_factor(const Place& place, bool depthwise, OperandRounding rounding, const Use& use) const;
  template <class Use>
  void for_each_pointwise_factor(const Place& place, const Use& use) const;
  [[nodiscard]] double input_value(const Place& position, OperandRounding rounding) const;
  [[nodiscard]] double load(std::span<const std::byte> tensor, std::int64_t element, OperandRounding rounding) const;

  const Variant& variant_;
  const Operands& operands_;
  Problem filter_;  ///< the problem, or its depthwise half
  bool separable_;
  Place input_shape_, input_strides_, weight_shape_, weight_strides_, pointwise_strides_, output_strides_;
  std::int64_t input_count_;
};

}  // namespace tapconv
