#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

/// Phases of larger strides are not tried.
constexpr std::int64_t most_phases = 16;

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// Whether positions of a deviating problem stay far from the ends of 64 bits.
bool fits(const Problem& p, const Extent& output) {
  constexpr double limit = 0x1p62;
  for (int axis = 0; axis < p.rank; ++axis) {
    const auto outputs = static_cast<double>(output[axis]);
    const double reach = static_cast<double>(p.kernel[axis]) * static_cast<double>(p.dilation[axis]);
    const double stride = p.kind == Kind::transposed ? 1 : static_cast<double>(p.stride[axis]);
    if (outputs * stride + reach + std::abs(static_cast<double>(p.padding_lo[axis])) > limit) return false;
  }
  return true;
}

class Parameters {
 public:
  explicit Parameters(const Problem& problem)
      : problem_(problem), transposed_(problem.kind == Kind::transposed), output_(output_extent(problem)) {}

  std::vector<Suspicion> all() {
    padding();
    padding_modes();
    dilation();
    stride();
    exchanged();
    return std::move(found_);
  }

 private:
  void add(std::string cause, std::string said, Variant variant) {
    if (fits(variant.problem, output_)) found_.push_back({std::move(cause), std::move(said), std::move(variant)});
  }

  /// change(problem, axis) along all axes where it applies, and along each.
  template <class Applies, class Change>
  void along_axes(const std::string& cause, const std::string& said, Applies applies, Change change) {
    for (const AxisChoice& choice : axis_choices(problem_, applies)) {
      Variant variant = faithful(problem_);
      for (const int axis : choice.axes) change(variant.problem, axis);
      std::string where = said;
      where.replace(where.find('@'), 1, choice.said);
      add(cause, std::move(where), std::move(variant));
    }
  }

  [[nodiscard]] bool padded(int axis) const { return problem_.padding_lo[axis] != 0 || problem_.padding_hi[axis] != 0; }

  void padding() {
    along_axes(
        "padding-swapped",
        "the padding before the first and after the last position are exchanged @; give the lower one to the start",
        [&](int axis) { return problem_.padding_lo[axis] != problem_.padding_hi[axis]; },
        [](Problem& p, int axis) { std::swap(p.padding_lo[axis], p.padding_hi[axis]); });
    along_axes(
        "padding-ignored", "the padding before the first position is ignored @; subtract it from the input position",
        [&](int axis) { return problem_.padding_lo[axis] != 0; }, [](Problem& p, int axis) { p.padding_lo[axis] = 0; });
    for (const std::int64_t error : {1, -1})
      along_axes(
          "padding-off-by-one",
          fmt::format("the padding before the first position is {} by one @: every window starts one position too {}; "
                      "check the offset of the first tap",
                      error > 0 ? "too large" : "too small", (error > 0) == !transposed_ ? "early" : "late"),
          [](int) { return true; }, [error](Problem& p, int axis) { p.padding_lo[axis] += error; });
    if (!transposed_) return;
    along_axes(
        "padding-not-complemented",
        "the padding is taken as that of a convolution over the spread input @; there it is dilation * (kernel_size - "
        "1) - padding",
        [](int) { return true; },
        [](Problem& p, int axis) {
          p.padding_lo[axis] = p.dilation[axis] * (p.kernel[axis] - 1) - p.padding_lo[axis];
        });
    along_axes(
        "output-padding-side", "output_padding is added before the first output @; it belongs after the last",
        [&](int axis) { return problem_.output_padding[axis] != 0; },
        [](Problem& p, int axis) { p.padding_lo[axis] -= p.output_padding[axis]; });
  }

  void padding_modes() {
    if (transposed_) return;
    bool any = false;
    for (int axis = 0; axis < problem_.rank; ++axis) any = any || padded(axis);
    if (!any) return;
    for (const PaddingMode mode :
         {PaddingMode::zeros, PaddingMode::reflect, PaddingMode::replicate, PaddingMode::circular}) {
      if (mode == problem_.padding_mode) continue;
      Variant variant = faithful(problem_);
      variant.problem.padding_mode = mode;
      add("padding-mode",
          fmt::format("positions outside the input are {} where {} is asked for", said_of(mode),
                      name(problem_.padding_mode)),
          std::move(variant));
    }
    for (const auto& [below, above] : {std::pair{true, true}, {false, true}, {true, false}}) {
      for (const AxisChoice& choice : axis_choices(problem_, [&](int axis) { return padded(axis); })) {
        Variant variant = faithful(problem_);
        for (const int axis : choice.axes) {
          variant.unchecked_below[place_axis(problem_, axis)] = below;
          variant.unchecked_above[place_axis(problem_, axis)] = above;
        }
        add("padding-unchecked",
            fmt::format("positions {} the input are read from memory {}, where the neighbouring row or channel lies; "
                        "test them against the bounds",
                        below && above ? "outside"
                        : below        ? "before"
                                       : "after",
                        choice.said),
            std::move(variant));
      }
    }
    if (problem_.padding_mode != PaddingMode::zeros) return;
    Variant variant = faithful(problem_);
    variant.alter = [p = problem_](Term& term) {
      if ((p.kind == Kind::depthwise_separable) != term.depthwise) return true;
      for (int axis = 0; axis < p.rank; ++axis) {
        const std::int64_t position = term.input[place_axis(p, axis)];
        if (position < 0 || position >= p.input[axis]) return false;
      }
      return true;
    };
    add("padding-not-multiplied",
        "products with padding are left out, which differs where a weight is infinite or NaN; multiply by the zeros of "
        "the padding",
        std::move(variant));
  }

  static std::string_view said_of(PaddingMode mode) {
    switch (mode) {
      case PaddingMode::zeros:
        return "zeros";
      case PaddingMode::reflect:
        return "reflected";
      case PaddingMode::replicate:
        return "the nearest position (replicate)";
      case PaddingMode::circular:
        return "wrapped around (circular)";
    }
    return "?";
  }

  void dilation() {
    along_axes(
        "dilation-ignored", "the dilation is taken as 1 @; multiply the tap by it",
        [&](int axis) { return problem_.kernel[axis] > 1 && problem_.dilation[axis] > 1; },
        [](Problem& p, int axis) { p.dilation[axis] = 1; });
    for (const std::int64_t error : {1, -1})
      along_axes(
          "dilation-off-by-one",
          fmt::format("the dilation is one too {} @; check the distance of neighbouring taps",
                      error > 0 ? "large" : "small"),
          [&](int axis) { return problem_.kernel[axis] > 1 && problem_.dilation[axis] + error > 0; },
          [error](Problem& p, int axis) { p.dilation[axis] += error; });
  }

  void stride() {
    along_axes(
        "stride-ignored", "the stride is taken as 1 @; multiply the output position by it",
        [&](int axis) { return output_[axis] > 1 && problem_.stride[axis] > 1; },
        [](Problem& p, int axis) { p.stride[axis] = 1; });
    for (const std::int64_t error : {1, -1})
      along_axes(
          "stride-off-by-one", fmt::format("the stride is one too {} @", error > 0 ? "large" : "small"),
          [&](int axis) {
            return output_[axis] > 1 && problem_.stride[axis] > -error && problem_.stride[axis] < largest;
          },
          [error](Problem& p, int axis) { p.stride[axis] += error; });
    const auto widest = *std::max_element(problem_.stride.begin(), problem_.stride.begin() + problem_.rank);
    for (std::int64_t phase = 1; phase < std::min(widest, most_phases); ++phase)
      along_axes(
          "stride-phase",
          fmt::format("the strided windows start {} position{} too late @, in another phase of the stride", phase,
                      phase == 1 ? "" : "s"),
          [&](int axis) { return !transposed_ && problem_.stride[axis] > phase; },
          [phase](Problem& p, int axis) { p.padding_lo[axis] -= phase; });
  }

  /// Parameters of two axes exchanged.
  void exchanged() {
    for (int a = 0; a < problem_.rank; ++a) {
      for (int b = a + 1; b < problem_.rank; ++b) {
        const auto exchange = [&](const char* cause, const char* what, auto... members) {
          const auto same = [&](auto member) { return (problem_.*member)[a] == (problem_.*member)[b]; };
          if ((same(members) && ...)) return;
          Variant variant = faithful(problem_);
          (std::swap((variant.problem.*members)[a], (variant.problem.*members)[b]), ...);
          add(cause,
              fmt::format("the {} of {} and {} is exchanged", what, axis_letter(problem_, a), axis_letter(problem_, b)),
              std::move(variant));
        };
        exchange("stride-axes-swapped", "stride", &Problem::stride);
        exchange("dilation-axes-swapped", "dilation", &Problem::dilation);
        exchange("padding-axes-swapped", "padding", &Problem::padding_lo, &Problem::padding_hi);
      }
    }
  }

  Problem problem_;
  bool transposed_;
  Extent output_;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<Suspicion> parameter_suspicions(const Problem& problem) { return Parameters(problem).all(); }

}  // namespace tapconv
