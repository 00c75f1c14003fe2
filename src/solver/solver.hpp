#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cuda/compiler.hpp"
#include "cuda/driver.hpp"
#include "problem/lowering.hpp"

namespace tapconv {

/// Whether a solver takes a problem, and why not if it does not.
struct Support {
  bool ok = true;
  std::string reason;  ///< a sentence; empty if ok
};

/// A solver's kernel for one tap convolution: what to compile and how to launch it.
struct KernelPlan {
  cuda::KernelSource source;
  cuda::LaunchShape launch;
  std::string configuration;  ///< tiles and the like, for people
};

/// One way to compute tap convolutions on a CUDA device. Stateless.
class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Support supports(const Problem& problem, const cuda::DeviceFacts& device) const = 0;
  /// The best configuration by the solver's own model, without measuring. Only for what supports() accepts.
  [[nodiscard]] virtual KernelPlan plan(const TapConvolution& conv, const Problem& problem,
                                        const cuda::DeviceFacts& device) const = 0;
};

/// Every solver, the most specialised first. A new solver is one line there.
[[nodiscard]] std::span<const Solver* const> solvers();

/// C++ text of the shared::Shape of `conv`, as a braced initialiser.
[[nodiscard]] std::string shape_text(const TapConvolution& conv);

/// A translation unit with one entry: `header` is included, and `configuration` (the members of a struct Config in
/// namespace tapconv) is handed to `call`, the statement that is the kernel's body. The entry takes one parameter
/// `arguments` of type shared::`arguments_type`.
[[nodiscard]] cuda::KernelSource kernel_source(std::string_view entry, std::string_view header,
                                               std::string_view configuration, std::string_view launch_bounds,
                                               std::string_view arguments_type, std::string_view call);

}  // namespace tapconv
