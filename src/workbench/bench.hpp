#pragma once

#include <vector>

#include "tapconv/workbench.hpp"
#include "workbench/torch_reference.hpp"

namespace tapconv {

/// Throws Error{usage} for a protocol that no problem can be measured by.
void expect_protocol(const BenchRequest& request);

/// The processes that request.against names; none is started yet.
[[nodiscard]] std::vector<TorchReference> torch_references(const BenchRequest& request);

/// What to do if the library has no configuration that runs the problem.
enum class Refusal {
  fails,  ///< throw its Error
  noted,  ///< in BenchReport::refusal
};

/// bench() with processes of PyTorch that are already there.
[[nodiscard]] BenchReport bench(const BenchRequest& request, std::vector<TorchReference>& frameworks, Refusal refusal);

}  // namespace tapconv
