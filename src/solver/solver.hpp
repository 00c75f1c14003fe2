#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/compiler.hpp"
#include "solver/device_model.hpp"
#include "solver/task.hpp"

namespace tapconv {

/// Whether a solver takes a task, and why not if it does not.
struct Support {
  bool ok = true;
  std::string reason;  ///< a sentence; empty if ok
};

/// One legal way for a solver to compute a task, and what its cost model makes of it.
struct Candidate {
  std::string configuration;  ///< canonical: what plan() takes, and what the plan database keeps
  double predicted_ms = 0;
  double waves = 0;       ///< blocks over those that the device holds at a time
  double edge_waste = 0;  ///< share of the computed products that no output needs: tiles that overhang
};

/// A kernel that computes a task: what to compile, and how to launch it at any of its sizes.
struct KernelPlan {
  cuda::KernelSource source;  ///< takes shared::Arguments
  std::function<cuda::LaunchShape(const shared::Sizes&)> launch;
  int input_alignment = 1, output_alignment = 1;  ///< of the tensors' addresses, in bytes; at most 16
  /// Of the weights: a kernel that reads `weight` and writes `output`. There where the task has them packed; else where
  /// the kernel reads none but packed ones, so that whoever launches it has to pack first. What it writes
  /// depends on the problem and the configuration, not on whether the task is strided or wide.
  struct Packing {
    cuda::KernelSource source;
    cuda::LaunchShape launch;
    std::size_t bytes = 0;
    /// How the weights lie there, in words: plans of one solver and stage with equal layouts read each other's.
    std::string layout;
  };
  std::optional<Packing> packing;
  /// Boundaries of the reduction's chunks and the order in which their sums are added, in words: equal orders give
  /// equal bits, whatever the batch.
  std::string k_order;
};

/// One way to compute tap convolutions on a CUDA device. Stateless.
class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Support supports(const Task& task, const DeviceModel& device) const = 0;
  /// Every legal configuration worth a measurement, best first by the solver's model. Not empty for what supports()
  /// accepts. Depends on the problem's sizes, dynamic ones too.
  [[nodiscard]] virtual std::vector<Candidate> candidates(const Task& task, const DeviceModel& device) const = 0;
  /// The kernel of a configuration. Throws Error{usage} for one that is malformed or not legal for the task.
  [[nodiscard]] virtual KernelPlan plan(const Task& task, std::string_view configuration,
                                        const DeviceModel& device) const = 0;
};

/// Every solver, the most specialised first. A new solver is one line there.
[[nodiscard]] std::span<const Solver* const> solvers();

/// The members of a kernel's Config that every solver's kernel has: types, shape, epilogue.
[[nodiscard]] std::string common_configuration(const Task& task);

/// A translation unit with one entry: `header` is included, and `configuration` (the members of a struct Config in
/// namespace tapconv) is handed to `call`, the statement that is the kernel's body. The entry takes one parameter
/// `arguments` of type shared::`arguments_type`. It is launched in clusters of so many blocks.
[[nodiscard]] cuda::KernelSource kernel_source(std::string_view entry, std::string_view header,
                                               std::string_view configuration, std::string_view launch_bounds,
                                               std::string_view arguments_type, std::string_view call, int cluster = 1);

/// Blocks in a row, and in further rows where one cannot hold them; a kernel numbers them row by row and has to know
/// which are beyond the last.
[[nodiscard]] std::array<std::int64_t, 3> block_grid(std::int64_t blocks, const cuda::DeviceFacts& device);

/// The kernel for outputs of a transposed task that no tap reaches, which no solver's kernel writes; nothing if there
/// are none at any size.
[[nodiscard]] std::optional<KernelPlan> unreached_plan(const Task& task, const DeviceModel& device);

}  // namespace tapconv
