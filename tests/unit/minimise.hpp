#pragma once

#include <array>
#include <functional>
#include <vector>

#include "problem/validity.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// A simpler problem that fails as `problem` does: features are dropped and sizes shrunk as long as it still fails.
/// Greedy. Calls `fails` at most `most_calls` times, with valid problems alone; `problem` itself is taken to fail.
class Minimiser {
 public:
  Minimiser(std::function<bool(const Problem&)> fails, int most_calls)
      : fails_(std::move(fails)), calls_left_(most_calls) {}

  Problem operator()(Problem problem) {
    for (bool simpler = true; simpler;) {
      simpler = false;
      for (const auto& simplify : simplifications(problem.rank)) {
        // A step that helped, like halving, may help again.
        while (step(problem, simplify)) simpler = true;
      }
    }
    return problem;
  }

  [[nodiscard]] int calls_left() const { return calls_left_; }

 private:
  using Simplify = std::function<void(Problem&)>;

  bool step(Problem& problem, const Simplify& simplify) {
    Problem simpler = problem;
    simplify(simpler);
    if (simpler == problem || find_violation(simpler) || calls_left_ == 0) return false;
    --calls_left_;
    if (!fails_(simpler)) return false;
    problem = simpler;
    return true;
  }

  /// The largest steps first.
  static std::vector<Simplify> simplifications(int rank) {
    std::vector<Simplify> all{
        [](Problem& p) {
          p.dynamic_batch = false;
          p.dynamic_input = {false, false, false};
        },
        [](Problem& p) {
          p.activation = Activation::none;
          p.negative_slope = Problem{}.negative_slope;
        },
        [](Problem& p) { p.residual = false; },
        [](Problem& p) { p.bias = false; },
        [](Problem& p) { p.padding_mode = PaddingMode::zeros; },
        [](Problem& p) { p.layout = Layout::contiguous; },
        [](Problem& p) {
          p.dtype = p.out_dtype = DType::float32;
          p.contract = p.contract == Contract::tf32 || p.contract == Contract::ieee ? p.contract : Contract::fp32;
        },
        [](Problem& p) { p.out_dtype = p.dtype; },
        [](Problem& p) {
          p.contract = default_contract(p.dtype);
          p.tie_rule = TieRule::away;
        },
        [](Problem& p) { p.batch = 1; },
        [](Problem& p) { p.depth_multiplier = 1; },
        [](Problem& p) {
          p.in_channels /= p.groups;
          p.out_channels /= p.groups;
          p.groups = 1;
        },
        [](Problem& p) { halve_channels(p, p.in_channels); },
        [](Problem& p) { halve_channels(p, p.out_channels); },
        [](Problem& p) { drop_channels(p, p.in_channels); },
        [](Problem& p) { drop_channels(p, p.out_channels); },
        drop_axis,
    };
    for (int axis = 0; axis < rank; ++axis) add_axis_steps(all, axis);
    all.emplace_back([](Problem& p) { p.batch -= p.batch > 1; });
    return all;
  }

  static void add_axis_steps(std::vector<Simplify>& all, int axis) {
    all.insert(all.end(),
               {[axis](Problem& p) { p.padding_lo[axis] = p.padding_hi[axis] = 0; },
                [axis](Problem& p) { p.padding_hi[axis] = p.padding_lo[axis]; },
                [axis](Problem& p) { p.output_padding[axis] = 0; }, [axis](Problem& p) { p.dilation[axis] = 1; },
                [axis](Problem& p) { p.stride[axis] = 1; }, [axis](Problem& p) { p.kernel[axis] = 1; },
                [axis](Problem& p) { p.padding_lo[axis] /= 2; }, [axis](Problem& p) { p.padding_hi[axis] /= 2; },
                [axis](Problem& p) { p.input[axis] = (p.input[axis] + 1) / 2; },
                [axis](Problem& p) { p.kernel[axis] -= p.kernel[axis] > 1; },
                [axis](Problem& p) { p.stride[axis] -= p.stride[axis] > 1; },
                [axis](Problem& p) { p.dilation[axis] -= p.dilation[axis] > 1; },
                [axis](Problem& p) { p.input[axis] -= p.input[axis] > 1; }});
  }

  /// To a multiple of the groups.
  static void halve_channels(const Problem& p, std::int64_t& channels) {
    channels = (channels / p.groups + 1) / 2 * p.groups;
  }
  static void drop_channels(const Problem& p, std::int64_t& channels) {
    if (channels > p.groups) channels -= p.groups;
  }

  /// The first axis, which is neutral where its filter is 1.
  static void drop_axis(Problem& p) {
    if (p.rank == 1) return;
    for (Extent* extent :
         {&p.input, &p.kernel, &p.stride, &p.dilation, &p.padding_lo, &p.padding_hi, &p.output_padding}) {
      for (int axis = 0; axis + 1 < max_rank; ++axis) (*extent)[axis] = (*extent)[axis + 1];
      const bool of_sizes = extent == &p.input || extent == &p.kernel || extent == &p.stride || extent == &p.dilation;
      (*extent)[max_rank - 1] = of_sizes ? 1 : 0;
    }
    p.dynamic_input = {p.dynamic_input[1], p.dynamic_input[2], false};
    --p.rank;
  }

  std::function<bool(const Problem&)> fails_;
  int calls_left_;
};

}  // namespace tapconv::testing
