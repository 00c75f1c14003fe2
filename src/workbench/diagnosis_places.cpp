#include <algorithm>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

class Places {
 public:
  explicit Places(const Problem& problem)
      : problem_(problem), shape_(whole_shape(output_shape(problem))), own_order_(order_of(problem.layout)) {}

  std::vector<Suspicion> all() {
    other_orders();
    if (problem_.kind == Kind::transposed) phases();
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      if (shape_[axis] > 1) along(axis);
    }
    return std::move(found_);
  }

 private:
  template <class Source>
  void from(std::string cause, std::string said, Source source) {
    Variant variant = faithful(problem_);
    variant.source = std::move(source);
    found_.push_back({std::move(cause), std::move(said), std::move(variant)});
  }

  /// Whether a tensor of that shape lies alike in both orders.
  static bool alike(const AxisOrder& a, const AxisOrder& b, const Place& shape) {
    const Place x = strides_in(a, shape), y = strides_in(b, shape);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 1 && x[i] != y[i]) return false;
    }
    return true;
  }

  void other_order(const std::string& of_output, const std::string& of_input, std::string_view said,
                   const AxisOrder& order) {
    if (!alike(order, own_order_, shape_))
      from(of_output,
           fmt::format("the output is written {}, but it lies {}; use the strides of that layout", said,
                       name(problem_.layout)),
           [shape = shape_, own = strides_in(own_order_, shape_), order](const Place& place) {
             return std::optional(place_in(order, shape, element_of(place, own)));
           });
    if (!alike(order, own_order_, whole_shape(input_shape(problem_)))) {
      Variant variant = faithful(problem_);
      variant.input_order = order;
      found_.push_back({of_input,
                        fmt::format("the input is read {}, but it lies {}; use the strides of that layout", said,
                                    name(problem_.layout)),
                        std::move(variant)});
    }
  }

  void other_orders() {
    const bool last = problem_.layout == Layout::channels_last;
    other_order("layout-swapped", "input-layout-swapped", last ? "contiguous" : "channels_last",
                last ? contiguous_order : channels_last_order);
    const auto exchange = [&](std::size_t a, std::size_t b) {
      AxisOrder order = own_order_;
      std::iter_swap(std::find(order.begin(), order.end(), a), std::find(order.begin(), order.end(), b));
      return order;
    };
    for (int a = 0; a < problem_.rank; ++a) {
      for (int b = a + 1; b < problem_.rank; ++b)
        other_order("output-axes-swapped", "input-axes-swapped",
                    fmt::format("with {} and {} exchanged", axis_letter(problem_, a), axis_letter(problem_, b)),
                    exchange(place_axis(problem_, a), place_axis(problem_, b)));
    }
    other_order("images-channels-swapped", "input-images-channels-swapped", "with images and channels exchanged",
                exchange(0, 1));
  }

  /// The outputs of each residue class of a strided transposed convolution one class behind the other.
  void phases() {
    // Where the stride is longer than the output every phase has one output, and their order is right.
    const auto strided = [&](int axis) {
      return problem_.stride[axis] > 1 && problem_.stride[axis] < shape_[place_axis(problem_, axis)];
    };
    for (const AxisChoice& choice : axis_choices(problem_, strided)) {
      from("phases-contiguous",
           fmt::format("the outputs of each phase of the stride lie one phase behind the other {}; interleave them: "
                       "phase + stride * q",
                       choice.said),
           [p = problem_, shape = shape_, axes = choice.axes](Place place) {
             for (const int axis : axes) {
               const std::size_t at = place_axis(p, axis);
               const std::int64_t stride = p.stride[axis];
               std::int64_t phase = 0;
               for (; phase < stride; ++phase) {
                 const std::int64_t outputs = (shape[at] - phase + stride - 1) / stride;
                 if (place[at] < outputs) break;
                 place[at] -= outputs;
               }
               place[at] = phase + stride * place[at];
             }
             return std::optional(place);
           });
    }
  }

  /// "images", "channels"; of spatial axes "output".
  static std::string family(std::size_t axis) { return axis == 0 ? "images" : axis == 1 ? "channels" : "output"; }

  void along(std::size_t axis) {
    const std::int64_t size = shape_[axis];
    const std::string_view noun = axis_noun(problem_, axis);
    const std::string which = family(axis);
    if (axis < 2)
      from(axis == 0 ? "image-index-ignored" : "channel-index-ignored",
           fmt::format("every {0} holds the first {0}; use the index of the {0}", noun), [axis](Place place) {
             place[axis] = 0;
             return std::optional(place);
           });
    from(which + (axis < 2 ? "-reversed" : "-mirrored"),
         fmt::format("the {}s are in reverse order; write them the other way round", noun), [=](Place place) {
           place[axis] = size - 1 - place[axis];
           return std::optional(place);
         });
    for (const std::int64_t step : {1, -1}) {
      const std::string moved = fmt::format("every {0} holds the {1} one", noun, step > 0 ? "next" : "previous");
      from(which + "-rotated", moved + ", around the end; check the offset of the store", [=](Place place) {
        place[axis] = (place[axis] + step + size) % size;
        return std::optional(place);
      });
      from(which + "-shifted", moved + "; check the offset of the store", [=](Place place) {
        place[axis] += step;
        return place[axis] < 0 || place[axis] >= size ? std::nullopt : std::optional(place);
      });
    }
    for (std::int64_t block = 1; block < size && block <= 64; block *= 2) {
      from(which + "-permuted",
           fmt::format("neighbouring blocks of {} {}{} are exchanged; check which thread holds which of them", block,
                       noun, block == 1 ? "" : "s"),
           [=](Place place) {
             place[axis] ^= block;
             return place[axis] >= size ? std::nullopt : std::optional(place);
           });
    }
  }

  Problem problem_;
  Place shape_;
  AxisOrder own_order_;
  std::vector<Suspicion> found_;
};

}  // namespace

std::vector<Suspicion> place_suspicions(const Problem& problem) { return Places(problem).all(); }

}  // namespace tapconv
