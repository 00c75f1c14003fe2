#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapconv/prediction.hpp"

namespace tapconv::cli {

/// What to expect of a problem's results on tensors that are drawn from a seed.
struct ExpectedErrors {
  struct Of {
    std::string arithmetic;  ///< a contract's name
    ErrorPrediction error;
  };
  std::vector<Of> errors;  ///< of float32 problems in fp32 and tf32, else in the problem's contract
  /// Of a float32 problem: fp32 judged by |a - b| <= tolerance + tolerance |b| against tf32.
  std::optional<PassPrediction> against_tf32;
  static constexpr double tolerance = 1e-4;
};

[[nodiscard]] ExpectedErrors expected_errors(const Problem& problem);

}  // namespace tapconv::cli
