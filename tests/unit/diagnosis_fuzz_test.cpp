#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "broken_result.hpp"
#include "random_problem.hpp"

namespace tapconv {
namespace {

using testing::Broken;
using testing::BrokenResult;
using testing::Fault;

struct NamedFault {
  Broken broken;
  const char* cause;
};

/// Faults that any problem can have, and what each is called. A fault may be invisible in a problem.
constexpr NamedFault kinds[] = {
    {{Fault::kernel_flipped}, "kernel-flipped"},
    {{Fault::weights_of_other_layout}, "weight-layout"},
    {{Fault::padding_swapped}, "padding-swapped"},
    {{Fault::padding_shifted, 1}, "padding-off-by-one"},
    {{Fault::padding_shifted, -1}, "padding-off-by-one"},
    {{Fault::padding_ignored}, "padding-ignored"},
    {{Fault::dilation_shifted, 1}, "dilation-off-by-one"},
    {{Fault::dilation_ignored}, "dilation-ignored"},
    {{Fault::stride_ignored}, "stride-ignored"},
    {{Fault::bias_missing}, "bias-missing"},
    {{Fault::bias_of_next}, "bias-of-other-channel"},
    {{Fault::residual_missing}, "residual-missing"},
    {{Fault::residual_after_activation}, "residual-after-activation"},
    {{Fault::layout_swapped}, "layout-swapped"},
    {{Fault::input_layout_swapped}, "input-layout-swapped"},
    {{Fault::rotated, 0}, "images-rotated"},
    {{Fault::rotated, 1}, "channels-rotated"},
    {{Fault::mirrored, 2}, "output-mirrored"},
    {{Fault::index_ignored, 0}, "image-index-ignored"},
    {{Fault::index_ignored, 1}, "channel-index-ignored"},
};

/// Whatever the problem, a fault that shows is named, alone or beside others that make the same result.
TEST(DiagnosisFuzz, FaultsThatShowAreNamed) {
  int shown = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Problem problem = testing::RandomProblem(seed, testing::Space::whole).draw(3e4);
    for (const NamedFault& kind : kinds) {
      SCOPED_TRACE(std::string(kind.cause) + " on " + spell(problem) + ", seed " + std::to_string(seed));
      const Diagnosis d = BrokenResult(problem, kind.broken, seed).diagnose(false);
      // So few wrong outputs are no evidence.
      if (d.wrong < 8) continue;
      ++shown;
      EXPECT_TRUE(d.cause == kind.cause || std::ranges::count(d.also, kind.cause) == 1)
          << "not " << kind.cause << ": " << d.cause << ": " << d.sentence << " wrong " << d.wrong << " of "
          << d.examined;
    }
  }
  EXPECT_GT(shown, 200);
}

}  // namespace
}  // namespace tapconv
