#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// All outputs of a problem, in their order.
inline std::vector<std::int64_t> all_outputs(const Problem& problem) {
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(element_count(output_shape(problem))));
  std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
  return outputs;
}

}  // namespace tapconv::testing
