#include "workbench/neighbours.hpp"

#include <algorithm>
#include <functional>

#include "problem/text.hpp"
#include "problem/validity.hpp"

namespace tapconv {
namespace {

class Neighbours {
 public:
  explicit Neighbours(const Problem& problem) : problem_(problem) {}

  std::vector<Neighbour> find() {
    add("batch", problem_.batch + 1, [](Problem& p) -> std::int64_t& { return p.batch; });
    add("batch", problem_.batch - 1, [](Problem& p) -> std::int64_t& { return p.batch; });
    add("batch", 1, [](Problem& p) -> std::int64_t& { return p.batch; });
    add_channels();
    for (int axis = 0; axis < problem_.rank; ++axis) {
      add_axis("input", axis, &Problem::input);
      add_axis("kernel_size", axis, &Problem::kernel);
      add_axis("stride", axis, &Problem::stride);
      add_axis("dilation", axis, &Problem::dilation);
      add_axis("padding_lo", axis, &Problem::padding_lo);
      add_axis("padding_hi", axis, &Problem::padding_hi);
      if (problem_.kind == Kind::transposed) add_axis("output_padding", axis, &Problem::output_padding);
    }
    add_single_output();
    return std::move(found_);
  }

 private:
  void add(const std::string& change, const Problem& neighbour) {
    const bool known = neighbour == problem_ ||
                       std::ranges::any_of(found_, [&](const Neighbour& other) { return other.problem == neighbour; });
    if (!known && !find_violation(neighbour)) found_.push_back({change, neighbour});
  }

  template <class Field>
  void add(const std::string& name, std::int64_t value, const Field& field) {
    Problem neighbour = problem_;
    field(neighbour) = value;
    add(fmt::format("{} {}", name, value), neighbour);
  }

  void add_axis(const char* name, int axis, Extent Problem::*extent) {
    const auto field = [&](Problem& p) -> std::int64_t& { return (p.*extent)[static_cast<std::size_t>(axis)]; };
    Problem copy = problem_;
    const std::int64_t value = field(copy);
    for (const std::int64_t change : {std::int64_t{1}, std::int64_t{-1}})
      add(fmt::format("{}[{}]", name, axis), value + change, field);
  }

  /// With so many groups and channels in each.
  void add_channels(std::int64_t groups, std::int64_t in, std::int64_t out) {
    Problem neighbour = problem_;
    neighbour.groups = groups;
    neighbour.in_channels = groups * in;
    neighbour.out_channels = groups * out;
    add(fmt::format("{} -> {} channels in {} groups", neighbour.in_channels, neighbour.out_channels, groups),
        neighbour);
  }

  void add_channels() {
    const std::int64_t groups = problem_.groups;
    const std::int64_t in = problem_.in_channels / groups, out = problem_.out_channels / groups;
    const bool depthwise = groups > 1 && in == 1;
    for (const std::int64_t change : {std::int64_t{1}, std::int64_t{-1}}) {
      if (!depthwise) add_channels(groups, in + change, out);
      add_channels(groups, in, out + change);
      if (groups > 1) add_channels(groups + change, in, out);
    }
    if (!depthwise) add_channels(groups, in | 1, out | 1);
    if (groups == 1 && in % 2 == 0 && out % 2 == 0) add_channels(2, in / 2, out / 2);
    if (groups > 1 && !depthwise) add_channels(1, in, out);
    if (problem_.kind == Kind::depthwise_separable) {
      for (const std::int64_t change : {std::int64_t{1}, std::int64_t{-1}})
        add("depth_multiplier", problem_.depth_multiplier + change,
            [](Problem& p) -> std::int64_t& { return p.depth_multiplier; });
    }
  }

  /// The input just as large as the filter needs it; of a transposed problem one position.
  void add_single_output() {
    Problem neighbour = problem_;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(problem_.rank); ++axis) {
      const std::int64_t reach = problem_.dilation[axis] * (problem_.kernel[axis] - 1) + 1;
      const std::int64_t padding = problem_.padding_lo[axis] + problem_.padding_hi[axis];
      neighbour.input[axis] = problem_.kind == Kind::transposed ? 1 : std::max<std::int64_t>(1, reach - padding);
    }
    add(problem_.kind == Kind::transposed ? "input of one position" : "output of one position", neighbour);
  }

  Problem problem_;
  std::vector<Neighbour> found_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Problem& problem) { return Neighbours(problem).find(); }

}  // namespace tapconv
