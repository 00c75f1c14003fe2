#include "workbench/diagnosis_region.hpp"

#include <algorithm>

#include "problem/text.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

/// The most blocks of a grid along y or z.
constexpr std::int64_t most_blocks = 65535;

/// Longer periods are not tried; and fewer places show none.
constexpr std::int64_t most_period = 64;
constexpr std::size_t least_for_period = 4;

class Finder {
 public:
  Finder(const Case& result, Marks marks)
      : result_(result), problem_(result.problem()), shape_(result.output().shape()), marks_(std::move(marks)) {}

  std::optional<Region> find() {
    if (marks_.marked.empty()) return std::nullopt;
    if (marks_.others.empty()) return Region{.kind = Region::Kind::everything, .where = "everything"};
    const std::optional<Region> rest = suffix();
    if (rest && rest->clamped) return rest;
    if (auto found = box()) return found;
    if (rest) return rest;
    if (auto found = complement()) return found;
    return phase();
  }

 private:
  static bool holds(const Spread& hull, const Place& place) {
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (place[i] < hull.low[i] || place[i] > hull.high[i]) return false;
    }
    return true;
  }

  [[nodiscard]] bool none_in(const std::vector<Place>& places, const Spread& hull) const {
    return std::ranges::none_of(places, [&](const Place& place) { return holds(hull, place); });
  }

  /// Where `is` ends, between a position where it holds and one where it may not.
  template <class Is>
  static std::int64_t last_where(std::int64_t holds_at, std::int64_t end, const Is& is) {
    if (holds_at == end || is(end)) return end;
    while (std::abs(end - holds_at) > 1) {
      const std::int64_t middle = holds_at + (end - holds_at) / 2;
      (is(middle) ? holds_at : end) = middle;
    }
    return holds_at;
  }

  /// Extends the hull of listed places to that of the region they lie in, if it is a box.
  void extend(Spread& hull, const std::vector<Place>& places, bool marked) const {
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const auto is = [&](Place at, std::int64_t position) {
        at[axis] = position;
        return marks_.is_marked(at) == marked;
      };
      const auto by_axis = [axis](const Place& place) { return place[axis]; };
      const Place lowest = *std::ranges::min_element(places, {}, by_axis);
      const Place highest = *std::ranges::max_element(places, {}, by_axis);
      hull.low[axis] = last_where(hull.low[axis], 0, [&](std::int64_t at) { return is(lowest, at); });
      hull.high[axis] = last_where(hull.high[axis], shape_[axis] - 1, [&](std::int64_t at) { return is(highest, at); });
    }
  }

  [[nodiscard]] bool full(const Spread& hull, std::size_t axis) const {
    return hull.low[axis] == 0 && hull.high[axis] == shape_[axis] - 1;
  }

  std::optional<Region> box() const {
    Spread hull = marks_.hull;
    if (!marks_.whole) extend(hull, marks_.marked, true);
    if (!none_in(marks_.others, hull)) return std::nullopt;
    double volume = 1;
    std::vector<std::string> ranges;
    bool tail = true, clamped = true;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      volume *= static_cast<double>(hull.high[axis] - hull.low[axis] + 1);
      if (full(hull, axis)) continue;
      ranges.push_back(range_text(problem_, axis, hull.low[axis], hull.high[axis]));
      tail = tail && hull.low[axis] > 0 && hull.high[axis] == shape_[axis] - 1;
      clamped = clamped && hull.low[axis] > 0 && hull.low[axis] % most_blocks == 0;
    }
    if (marks_.whole && volume != static_cast<double>(marks_.hull.count)) return std::nullopt;
    tail = tail && ranges.size() == 1;
    return Region{.kind = tail ? Region::Kind::tail : Region::Kind::box,
                  .where = fmt::format("{}", fmt::join(ranges, ", ")),
                  .clamped = tail && clamped};
  }

  /// Everything from some output on, in the order of indices or of memory.
  std::optional<Region> suffix() const {
    const auto in_order = [&](const AxisOrder& order, std::int64_t first, const char* said) -> std::optional<Region> {
      const Place strides = strides_in(order, shape_);
      std::int64_t before = -1;
      for (const Place& place : marks_.others) before = std::max(before, element_of(place, strides));
      if (before >= first) return std::nullopt;
      if (!marks_.whole)
        first =
            last_where(first, before, [&](std::int64_t at) { return marks_.is_marked(place_in(order, shape_, at)); });
      if (marks_.whole && result_.outputs() - first != marks_.hull.count) return std::nullopt;
      return Region{.kind = Region::Kind::tail,
                    .where = fmt::format("everything from output {} on, in the order of {}", first, said),
                    .clamped = first > 0 && first % most_blocks == 0};
    };
    if (auto found = in_order(contiguous_order, marks_.hull.first_index, "indices")) return found;
    return in_order(result_.output().order(), marks_.hull.first_element, "memory");
  }

  /// Everything but a box.
  std::optional<Region> complement() const {
    Spread hull;
    for (const Place& place : marks_.others) hull.add(place, 4, 1, 0, 0);
    extend(hull, marks_.others, false);
    if (!none_in(marks_.marked, hull)) return std::nullopt;
    std::vector<std::string> ranges;
    bool border = false;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      if (full(hull, axis)) continue;
      ranges.push_back(range_text(problem_, axis, hull.low[axis], hull.high[axis]));
      if (axis < 2 && hull.low[axis] > 0) return std::nullopt;
      border = border || (axis >= 2 && hull.low[axis] > 0 && hull.high[axis] < shape_[axis] - 1);
    }
    return Region{.kind = border ? Region::Kind::border : Region::Kind::tail,
                  .where = fmt::format("everything outside {}", fmt::join(ranges, ", "))};
  }

  std::optional<Region> phase() const {
    if (marks_.marked.size() < least_for_period) return std::nullopt;
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) {
      for (std::int64_t period = 2; period <= std::min(most_period, shape_[axis] / 2); ++period) {
        const std::int64_t rest = marks_.marked.front()[axis] % period;
        const auto in_phase = [&](const Place& place) { return place[axis] % period == rest; };
        if (std::ranges::all_of(marks_.marked, in_phase) && std::ranges::none_of(marks_.others, in_phase))
          return Region{.kind = Region::Kind::phase,
                        .where = fmt::format("{}s with index mod {} = {}", axis_noun(problem_, axis), period, rest)};
      }
    }
    return std::nullopt;
  }

  const Case& result_;
  const Problem& problem_;
  Place shape_;
  Marks marks_;
};

}  // namespace

std::string range_text(const Problem& problem, std::size_t axis, std::int64_t low, std::int64_t high) {
  if (low == high) return fmt::format("{} {}", axis_noun(problem, axis), low);
  return fmt::format("{}s {} to {}", axis_noun(problem, axis), low, high);
}

std::optional<Region> find_region(const Case& result, Marks marks) { return Finder(result, std::move(marks)).find(); }

}  // namespace tapconv
