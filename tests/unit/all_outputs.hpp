#pragma once

#include <cstdint>
#include <vector>

#include "oracle/oracle.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::testing {

/// All outputs of a problem.
inline std::vector<std::int64_t> all_outputs(const Problem& problem) {
  return sample_outputs(problem, element_count(output_shape(problem)), 0);
}

}  // namespace tapconv::testing
