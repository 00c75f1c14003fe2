#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "problem/lowering.hpp"
#include "tapconv/problem.hpp"

namespace tapconv {

/// Adds products in fp64; of float64 operands with the errors of product and sum carried along (Ogita, Rump, Oishi
/// 2005, algorithm Dot2), since a product of two other operands is exact.
template <bool compensated>
class ExactSum {
 public:
  void add_product(double x, double w) {
    const double product = x * w;
    if constexpr (compensated) error_ += std::fma(x, w, -product);
    add(product);
  }

  void add(double term) {
    const double before = sum_;
    sum_ += term;
    if constexpr (compensated) {
      const double back = sum_ - before;
      error_ += (before - (sum_ - back)) + (term - back);
    }
  }

  [[nodiscard]] double value() const {
    // Where a term is not finite, neither is its error's sum, and the plain sum is right.
    return compensated && std::isfinite(sum_) && std::isfinite(error_) ? sum_ + error_ : sum_;
  }

 private:
  double sum_ = 0, error_ = 0;
};

/// A sum in the making: see OracleOutput.
template <class Chain>
struct PartialOutput {
  ExactSum<std::is_same_v<Chain, double>> sum;
  double magnitude = 0;
  std::int64_t products = 0;
  Chain sequential = 0;
  bool may_overflow = false;  ///< of what came before

  void add_magnitude(double term) {
    if (std::isfinite(term)) magnitude += std::abs(term);
  }

  void add_product(Chain x, Chain w) {
    const double product = static_cast<double>(x) * static_cast<double>(w);
    sum.add_product(x, w);
    add_magnitude(product);
    products += product != 0.0;
    sequential = std::fma(x, w, sequential);
  }

  void add_term(double term) {
    sum.add(term);
    add_magnitude(term);
    sequential += static_cast<Chain>(term);
  }
};

/// The sums of one plain problem, see stages(), straight from its lowering. `Chain` is float, or double for float64
/// operands.
template <class Chain>
class StageOracle {
 public:
  explicit StageOracle(const Problem& problem) : problem_(problem), shared_(lower_channels(problem)) {
    axes_.fill({TapAxis{}});
    for (int axis = 0; axis < problem.rank; ++axis) axes_[max_rank - problem.rank + axis] = lower_axis(problem, axis);
  }

  /// Sum over channels and taps of the output at (image, channel, position); axes D, H, W.
  [[nodiscard]] PartialOutput<Chain> evaluate(const void* input, const void* weight, std::int64_t image,
                                              std::int64_t channel, const std::array<std::int64_t, 3>& position,
                                              OperandRounding rounding) const {
    PartialOutput<Chain> out;
    std::array<const TapAxis*, 3> axis{};
    for (int i = 0; i < 3; ++i) axis[i] = class_of(i, position[i]);
    if (!axis[0] || !axis[1] || !axis[2]) return out;
    std::array<std::int64_t, 3> start{}, tap{};
    for (int i = 0; i < 3; ++i) {
      start[i] = axis[i]->in_step * ((position[i] - axis[i]->origin) / axis[i]->step);
    }
    const std::int64_t group = channel / shared_.out_channels;
    const std::int64_t filter =
        group * shared_.weight.group + channel % shared_.out_channels * shared_.weight.out_channel;
    for (std::int64_t c = 0; c < shared_.in_channels; ++c) {
      const std::int64_t plane = image * shared_.input.outer + (group * shared_.in_channels + c) * shared_.input.inner;
      const std::int64_t plane_weight = filter + c * shared_.weight.in_channel;
      for (tap[0] = 0; tap[0] < axis[0]->taps; ++tap[0]) {
        for (tap[1] = 0; tap[1] < axis[1]->taps; ++tap[1]) {
          for (tap[2] = 0; tap[2] < axis[2]->taps; ++tap[2]) {
            std::int64_t x_index = plane, w_index = plane_weight;
            bool inside = true;
            for (int i = 0; i < 3; ++i) {
              const auto source =
                  source_position(start[i] + axis[i]->offset(tap[i]), axis[i]->input, shared_.padding_mode);
              inside = inside && source.has_value();
              x_index += source.value_or(0) * shared_.input.axis[i];
              w_index += (axis[i]->first_tap + axis[i]->tap_step * tap[i]) * shared_.weight.axis[i];
            }
            out.add_product(inside ? load(input, x_index, rounding) : Chain{0}, load(weight, w_index, rounding));
          }
        }
      }
    }
    return out;
  }

  /// Element `index` of a tensor of the problem's type, rounded as an operand.
  [[nodiscard]] Chain load(const void* tensor, std::int64_t index, OperandRounding rounding) const {
    if constexpr (std::is_same_v<Chain, double>) {
      return static_cast<const double*>(tensor)[index];
    } else {
      const float value = problem_.dtype == DType::float32
                              ? static_cast<const float*>(tensor)[index]
                              : static_cast<float>(load_element(tensor, problem_.dtype, index));
      return round_operand(value, rounding);
    }
  }

 private:
  /// The tap axis that `position` of the output belongs to, or null if no tap reaches it.
  [[nodiscard]] const TapAxis* class_of(int axis, std::int64_t position) const {
    const std::vector<TapAxis>& classes = axes_[axis];
    if (classes.empty()) return nullptr;
    const std::int64_t rest = position % classes.front().step;
    const auto found = std::ranges::lower_bound(classes, rest, {}, &TapAxis::origin);
    return found != classes.end() && found->origin == rest ? &*found : nullptr;
  }

  Problem problem_;
  TapConvolution shared_;
  std::array<std::vector<TapAxis>, 3> axes_;
};

}  // namespace tapconv
