#include "workbench/diagnosis_groups.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "problem/text.hpp"
#include "workbench/diagnosis_region.hpp"
#include "workbench/diagnosis_suspicions.hpp"

namespace tapconv {
namespace {

constexpr std::size_t most_groups = 12;
/// How much the shares of wrong outputs inside and outside must differ, and of how many outputs each.
constexpr double least_difference = 0.2;
constexpr std::int64_t least_outputs = 4;

class Groups {
 public:
  explicit Groups(const Case& result) : result_(result), problem_(result.problem()), shape_(result.output().shape()) {}

  std::vector<Diagnosis::Group> telling() {
    ends();
    ranges();
    residues();
    std::ranges::stable_sort(found_, std::greater{}, &Telling::difference);
    std::vector<Diagnosis::Group> groups;
    for (const Telling& one : found_) {
      if (groups.size() < most_groups) groups.push_back(one.group);
    }
    return groups;
  }

 private:
  struct Telling {
    double difference = 0;
    Diagnosis::Group group;
  };

  template <class Holds>
  void consider(std::string what, const Holds& holds) {
    Diagnosis::Group group{.what = std::move(what)};
    std::int64_t outside = 0, wrong_outside = 0;
    for (const Sample& sample : result_.samples()) {
      if (holds(sample.place)) {
        ++group.outputs;
        group.wrong += sample.wrong;
        group.max_ratio = std::max(group.max_ratio, sample.ratio);
      } else {
        ++outside;
        wrong_outside += sample.wrong;
      }
    }
    if (group.outputs < least_outputs || outside < least_outputs) return;
    const double difference = std::abs(static_cast<double>(group.wrong) / static_cast<double>(group.outputs) -
                                       static_cast<double>(wrong_outside) / static_cast<double>(outside));
    if (difference >= least_difference) found_.push_back({difference, std::move(group)});
  }

  void ends() {
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      if (shape_[axis] == 1) continue;
      consider(fmt::format("first {} of the output", axis_noun(problem_, axis)),
               [axis](const Place& p) { return p[axis] == 0; });
      consider(fmt::format("last {} of the output", axis_noun(problem_, axis)),
               [axis, last = shape_[axis] - 1](const Place& p) { return p[axis] == last; });
    }
    consider("interior of the output", [this](const Place& p) {
      for (std::size_t axis = 2; axis < p.size(); ++axis) {
        if (shape_[axis] > 1 && (p[axis] == 0 || p[axis] == shape_[axis] - 1)) return false;
      }
      return true;
    });
    consider("windows that reach into the padding", [this](const Place& p) { return result_.meets_padding(p); });
  }

  /// From the first to the last wrong position of each axis.
  void ranges() {
    Spread hull;
    for (const Sample& sample : result_.samples()) {
      if (sample.wrong) hull.add(sample.place, 4, 1, 0, 0);
    }
    if (hull.count == 0) return;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const std::int64_t low = hull.low[axis], high = hull.high[axis];
      if (high - low + 1 < shape_[axis])
        consider(range_text(problem_, axis, low, high),
                 [=](const Place& p) { return p[axis] >= low && p[axis] <= high; });
    }
  }

  /// Channel groups, and positions modulo powers of two and the stride.
  void residues() {
    if (problem_.groups > 1 && problem_.groups <= 64) {
      const std::int64_t channels = problem_.out_channels / problem_.groups;
      for (std::int64_t g = 0; g < problem_.groups; ++g)
        consider(fmt::format("channels of group {}", g), [=](const Place& p) { return p[1] / channels == g; });
    }
    for (std::size_t axis = 1; axis < shape_.size(); ++axis) {
      std::vector<std::int64_t> periods{2, 4, 8, 16, 32};
      if (axis >= 2 && problem_.kind == Kind::transposed && shape_[axis] > 1)
        periods.push_back(problem_.stride[axis - static_cast<std::size_t>(5 - problem_.rank)]);
      for (const std::int64_t period : periods) {
        if (period < 2 || period > 32 || 2 * period > shape_[axis]) continue;
        for (std::int64_t rest = 0; rest < period; ++rest)
          consider(fmt::format("{} mod {} = {}", axis_noun(problem_, axis), period, rest),
                   [=](const Place& p) { return p[axis] % period == rest; });
      }
    }
  }

  const Case& result_;
  const Problem& problem_;
  Place shape_;
  std::vector<Telling> found_;
};

}  // namespace

std::vector<Diagnosis::Group> telling_groups(const Case& result) { return Groups(result).telling(); }

}  // namespace tapconv
