#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapconv/workbench.hpp"
#include "workbench/torch_reference.hpp"

namespace tapconv {

/// Throws Error{usage} for a protocol that no problem can be measured by.
void expect_protocol(const BenchRequest& request);

/// Whether a name in BenchRequest::against or FingerprintRequest::of is PyTorch's: "torch", "torch-benchmark".
[[nodiscard]] bool is_torch(std::string_view name);

/// The processes that are among `names`; none is started yet.
[[nodiscard]] std::vector<TorchReference> torch_references(const std::vector<std::string>& names);

/// Throws Error{usage} for a name that is neither among `valid` nor PyTorch's, or comes twice. `field` is where they
/// stand.
void expect_names(const std::string& field, const std::vector<std::string>& names,
                  const std::vector<std::string>& valid, const Device& device);

/// What to do if the library has no configuration that runs the problem.
enum class Refusal {
  fails,  ///< throw its Error
  noted,  ///< in BenchReport::refusal
};

/// bench() with processes of PyTorch that are already there.
[[nodiscard]] BenchReport bench(const BenchRequest& request, std::vector<TorchReference>& frameworks, Refusal refusal);

/// The same of whatever computes in `session`, a session of request.problem: the protocol without the devices.
[[nodiscard]] BenchReport bench(Session& session, const BenchRequest& request, std::vector<TorchReference>& frameworks,
                                Refusal refusal);

}  // namespace tapconv
