#include <algorithm>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

/// A suspicion per tap of an axis would be too many beyond so large a filter.
constexpr std::int64_t most_rows = 32;

class Filters {
 public:
  explicit Filters(const Problem& problem)
      : problem_(problem),
        separable_(problem.kind == Kind::depthwise_separable),
        own_order_(order_of(problem.layout)),
        shape_(whole_shape(weight_shape(problem))) {}

  std::vector<Suspicion> all() {
    flipped();
    exchanged();
    skipped();
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool wide(int axis) const { return problem_.kernel[axis] > 1; }

  /// Of those terms that are products with the filter `change` is asked.
  template <class Change>
  void alter(std::string cause, std::string said, Change change) {
    Variant variant = faithful(problem_);
    variant.alter = [change, separable = separable_](Term& term) {
      return term.depthwise != separable || change(term);
    };
    found_.push_back({std::move(cause), std::move(said), std::move(variant)});
  }

  void flipped() {
    for (const AxisChoice& choice : axis_choices(problem_, [&](int axis) { return wide(axis); })) {
      alter("kernel-flipped",
            fmt::format("the kernel is flipped {}{}; index the taps the other way round", choice.said,
                        problem_.kind == Kind::transposed
                            ? ", as if the transposed convolution slid the kernel as it lies in memory"
                            : ": it is a true convolution where a cross-correlation is asked for"),
            [problem = problem_, axes = choice.axes](Term& term) {
              for (const int axis : axes) {
                std::int64_t& tap = term.filter[place_axis(problem, axis)];
                tap = problem.kernel[axis] - 1 - tap;
              }
              return true;
            });
    }
  }

  void read_in(std::string cause, std::string said, const AxisOrder& order) {
    if (same_strides(order)) return;
    Variant variant = faithful(problem_);
    variant.weight_order = order;
    found_.push_back({std::move(cause), std::move(said), std::move(variant)});
  }

  /// Whether both orders are one, axes of size 1 left aside.
  [[nodiscard]] bool same_strides(const AxisOrder& order) const {
    const Place own = strides_in(own_order_, shape_), other = strides_in(order, shape_);
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      if (shape_[i] > 1 && own[i] != other[i]) return false;
    }
    return true;
  }

  [[nodiscard]] AxisOrder exchange(std::size_t a, std::size_t b) const {
    AxisOrder order = own_order_;
    std::iter_swap(std::find(order.begin(), order.end(), a), std::find(order.begin(), order.end(), b));
    return order;
  }

  void exchanged() {
    for (int a = 0; a < problem_.rank; ++a) {
      for (int b = a + 1; b < problem_.rank; ++b)
        read_in("taps-transposed",
                fmt::format("the taps are transposed: the weights are read as if {} lay outside {}; exchange the two "
                            "tap indices",
                            axis_letter(problem_, b), axis_letter(problem_, a)),
                exchange(place_axis(problem_, a), place_axis(problem_, b)));
    }
    read_in("channels-swapped",
            "the weights are read with input and output channels exchanged; exchange the two channel indices",
            exchange(0, 1));
    const Layout other = problem_.layout == Layout::contiguous ? Layout::channels_last : Layout::contiguous;
    read_in("weight-layout",
            fmt::format("the weights are read as if they lay {}, but they lie {}; use the strides of that layout",
                        name(other), name(problem_.layout)),
            order_of(other));
    read_in("weight-layout",
            "the weights are read as if the taps lay outside the channels (taps, input channels, output channels); use "
            "the strides of the problem's layout",
            {2, 3, 4, 1, 0});
    read_in("weight-layout",
            "the weights are read as if the taps lay outside the channels (taps, output channels, input channels); use "
            "the strides of the problem's layout",
            {2, 3, 4, 0, 1});
  }

  void skipped() {
    int wide_axes = 0;
    for (int axis = 0; axis < problem_.rank; ++axis) wide_axes += wide(axis);
    // A single tap is found from the products themselves, but of the depthwise half there are too many.
    if (wide_axes > 0 && separable_) {
      single("last-tap-skipped", [](std::int64_t size) { return size - 1; });
      single("first-tap-skipped", [](std::int64_t) { return 0; });
    }
    if (wide_axes < 2) return;
    for (int axis = 0; axis < problem_.rank; ++axis) {
      const std::int64_t size = problem_.kernel[axis];
      if (size < 2 || size > most_rows) continue;
      // The last one first: loops that end too early are the most usual.
      for (std::int64_t row = size; row-- > 0;) {
        const std::string_view which = row == size - 1 ? "last-" : row == 0 ? "first-" : "";
        alter(fmt::format("{}tap-row-skipped", which),
              fmt::format("the products with the taps at {} = {} are missing; let the loop over the taps run from 0 to "
                          "{}",
                          axis_letter(problem_, axis), row, size - 1),
              [at = place_axis(problem_, axis), row](Term& term) { return term.filter[at] != row; });
      }
    }
  }

  template <class Of>
  void single(const char* cause, const Of& of) {
    Place tap{0, 0, 0, 0, 0};
    for (int axis = 0; axis < problem_.rank; ++axis) tap[place_axis(problem_, axis)] = of(problem_.kernel[axis]);
    alter(cause,
          fmt::format("the products with tap ({}) are missing; check the bounds of the loop over it",
                      fmt::join(tap.end() - problem_.rank, tap.end(), ", ")),
          [tap](Term& term) { return !std::equal(tap.begin() + 2, tap.end(), term.filter.begin() + 2); });
  }

  Problem problem_;
  bool separable_;
  AxisOrder own_order_;
  Place shape_;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<Suspicion> filter_suspicions(const Problem& problem) { return Filters(problem).all(); }

}  // namespace tapconv
