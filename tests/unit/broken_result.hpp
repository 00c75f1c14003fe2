#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "broken.hpp"
#include "workbench/diagnosis.hpp"

namespace tapconv::testing {

/// A whole result with a fault, and everything that a diagnosis asks for.
class BrokenResult {
 public:
  using Index = NaiveConvolution::Index;

  BrokenResult(const Problem& problem, const Broken& broken, std::uint64_t seed)
      : BrokenResult(problem, broken, seed, real_operands(problem, seed)) {}

  BrokenResult(const Problem& problem, const Broken& broken, std::uint64_t seed, const DefinitionOperands& operands)
      : problem_(problem), broken_(broken), seed_(seed), operands_(operands), stored_(problem, operands_) {
    Grid before = real_operands(problem, seed + 100).residual;
    earlier = store(before, problem.out_dtype, problem.layout);
    Grid y = computed();
    for (double& value : y.values) {
      if (broken.fault == Fault::output_rounded) value = round_to(value, static_cast<DType>(broken.amount));
    }
    if (broken.fault == Fault::accumulated) {
      for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += before.values[i];
    }
    output = store(moved(y), problem.out_dtype, problem.layout);
  }

  /// Replaces outputs: change(index, value) for all in the order of their indices.
  template <class Change>
  void change(const Change& change_value) {
    const std::vector<std::int64_t> shape = output_shape(problem_), strides = strides_of(shape, problem_.layout);
    for_each_index(shape, [&](const Index& at) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * strides[i];
      const double value = load_element(output.data(), problem_.out_dtype, place);
      store_element(output.data(), problem_.out_dtype, place, change_value(at, value));
    });
  }

  /// Fills the outputs where holds(index) with what `bytes` says of their place in memory.
  template <class Holds, class Bytes>
  void overwrite(const Holds& holds, const Bytes& bytes) {
    const std::vector<std::int64_t> shape = output_shape(problem_), strides = strides_of(shape, problem_.layout);
    const std::size_t width = element_bytes(problem_.out_dtype);
    for_each_index(shape, [&](const Index& at) {
      if (!holds(at)) return;
      std::int64_t place = 0;
      for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * strides[i];
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t byte = static_cast<std::size_t>(place) * width + i;
        output[byte] = bytes(byte);
      }
    });
  }
  template <class Holds>
  void leave_unwritten(const Holds& holds) {
    overwrite(holds, [](std::size_t) { return std::byte{0xff}; });
  }

  [[nodiscard]] Diagnosis diagnose(bool poisoned = true) const {
    return tapconv::diagnose({.problem = problem_,
                              .operands = stored_.operands(),
                              .output = output,
                              .earlier = earlier,
                              .poison = 0xff,
                              .poisoned = poisoned,
                              .seed = seed_,
                              .suspects = suspects});
  }

  std::vector<std::byte> output, earlier;
  std::vector<std::int64_t> suspects;

 private:
  [[nodiscard]] bool is(Fault fault) const { return broken_.fault == fault; }

  /// The sums with their epilogue, where they belong.
  [[nodiscard]] Grid computed() const {
    std::vector<Problem> parts = stages(problem_);
    const bool separable = parts.size() > 1;
    // TF32 is for the pointwise half alone.
    if (separable && problem_.contract == Contract::tf32) parts[0].contract = Contract::fp32;
    // What can go wrong in the pointwise half; everything else goes wrong in the depthwise one.
    const bool second = separable && (is(Fault::operands_rounded) || is(Fault::channel_skipped));
    Grid y = NaiveConvolution(parts[0], second ? Broken{} : broken_)(operands_.input, operands_.weight);
    if (separable) {
      if (problem_.bias && !is(Fault::depthwise_bias_missing)) add_bias(y, operands_.bias, 1, false);
      y = NaiveConvolution(parts[1], second ? broken_ : Broken{})(interleaved(y), operands_.pointwise_weight);
    }
    const Grid& bias = separable ? operands_.pointwise_bias : operands_.bias;
    for (double& value : y.values) {
      if (is(Fault::scaled)) value *= broken_.factor;
    }
    const double times = is(Fault::bias_missing) ? 0 : is(Fault::bias_doubled) ? 2 : 1;
    const bool bias_late = is(Fault::bias_after_activation), residual_late = is(Fault::residual_after_activation);
    if (problem_.bias && !bias_late) add_bias(y, bias, times, is(Fault::bias_of_next));
    if (problem_.residual && !residual_late && !is(Fault::residual_missing)) add_residual(y);
    const Activation activation = is(Fault::activation) ? static_cast<Activation>(broken_.amount) : problem_.activation;
    for (double& value : y.values) value = activate(activation, value, problem_.negative_slope);
    if (problem_.bias && bias_late) add_bias(y, bias, 1, false);
    if (problem_.residual && residual_late) add_residual(y);
    return y;
  }

  [[nodiscard]] Grid interleaved(const Grid& depthwise) const {
    if (!is(Fault::depthwise_interleaved)) return depthwise;
    Grid source = depthwise, result(depthwise.shape);
    std::size_t i = 0;
    for_each_index(result.shape, [&](Index at) {
      at[1] = at[1] % problem_.in_channels * problem_.depth_multiplier + at[1] / problem_.in_channels;
      result.values[i++] = source.at(at);
    });
    return result;
  }

  static void add_bias(Grid& y, const Grid& bias, double times, bool of_next) {
    std::size_t i = 0;
    for_each_index(y.shape, [&](const Index& at) {
      const std::int64_t k = of_next ? (at[1] + 1) % y.shape[1] : at[1];
      y.values[i++] += times * bias.values[static_cast<std::size_t>(k)];
    });
  }

  void add_residual(Grid& y) const {
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] += operands_.residual.values[i];
  }

  /// The outputs where a fault of places puts them.
  [[nodiscard]] Grid moved(Grid y) const {
    if (is(Fault::layout_swapped)) {
      const NaiveConvolution naive(problem_, {});
      return NaiveConvolution::reread(y, naive.other_layout(), problem_.layout);
    }
    Grid result(y.shape);
    const bool along_axis = is(Fault::mirrored) || is(Fault::rotated) || is(Fault::shifted) || is(Fault::permuted) ||
                            is(Fault::index_ignored);
    const auto axis = static_cast<std::size_t>(along_axis ? broken_.amount : 0);
    for_each_index(y.shape, [&](const Index& at) {
      Index to = at;
      const std::int64_t size = y.shape[axis];
      if (is(Fault::mirrored)) to[axis] = size - 1 - at[axis];
      if (is(Fault::rotated)) to[axis] = (at[axis] + 1) % size;
      if (is(Fault::shifted)) to[axis] = at[axis] - 1;
      if (is(Fault::permuted)) to[axis] = at[axis] / 2 * 2 + 1 - at[axis] % 2;
      if (is(Fault::output_axes_swapped)) {
        const std::size_t h = at.size() - 2, w = at.size() - 1;
        const std::int64_t element = at[w] * y.shape[h] + at[h];
        to[h] = element / y.shape[w];
        to[w] = element % y.shape[w];
      }
      if (is(Fault::groups_interleaved_output)) {
        const std::int64_t out = problem_.out_channels / problem_.groups;
        to[1] = at[1] % out * problem_.groups + at[1] / out;
      }
      if (is(Fault::phases_contiguous)) {
        for (int i = 0; i < problem_.rank; ++i) {
          const std::size_t a = static_cast<std::size_t>(i) + 2;
          const std::int64_t stride = problem_.stride[i], phase = at[a] % stride;
          to[a] = at[a] / stride;
          for (std::int64_t before = 0; before < phase; ++before) to[a] += (y.shape[a] - 1 - before) / stride + 1;
        }
      }
      if (to[axis] < 0 || to[axis] >= size) return;
      Index from = at;
      if (is(Fault::index_ignored)) from[axis] = 0;
      result.at(to) = y.at(from);
    });
    return result;
  }

  Problem problem_;
  Broken broken_;
  std::uint64_t seed_;
  DefinitionOperands operands_;
  StoredOperands stored_;
};

}  // namespace tapconv::testing
