#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/driver.hpp"
#include "tapconv/problem.hpp"

namespace tapconv::cuda {

enum class CudnnLayout {
  contiguous,     ///< N C [D] [H] W; filters K C [T] [R] S
  channels_last,  ///< N [D] [H] W C; filters K [T] [R] S C
};

/// How a 1-D problem is shown to cuDNN, which knows only 2-D and 3-D: as an image of height 1 (as PyTorch does) or of
/// width 1. Ignored for ranks 2 and 3.
enum class CudnnRank1 { height_one, width_one };

/// How a problem is put to cuDNN.
struct CudnnChoice {
  CudnnLayout layout = CudnnLayout::contiguous;  ///< of input, weight and output alike
  CudnnRank1 rank1 = CudnnRank1::height_one;
  bool allow_tensor_cores = true;  ///< on float32 they compute in TF32
};

/// A mode of cuDNN's heuristics, in the order that they are asked.
enum class CudnnHeuristic { a, b, fallback };

/// "A", "B" or "fallback".
[[nodiscard]] std::string_view name(CudnnHeuristic heuristic) noexcept;

/// What cuDNN notes of an engine.
struct CudnnNotes {
  bool tensor_cores = false;
  bool down_converts_inputs = false;  ///< to a 16-bit type
  bool reduced_precision_reduction = false;
  bool fft = false;
  bool winograd = false;  ///< with any tile
  bool nondeterministic = false;
  bool compiled_at_run_time = false;
};

/// One engine configuration: an engine of cuDNN and the values of its knobs. Cheap until prepare(). Move-only; may
/// outlive the Cudnn that made it. The plans of one Cudnn share its handle: use them from one thread at a time.
class CudnnPlan {
 public:
  ~CudnnPlan();
  CudnnPlan(CudnnPlan&&) noexcept;
  CudnnPlan& operator=(CudnnPlan&&) noexcept;

  /// Engine and knobs (type=value, by type), like "engine 47 {2=1,3=0}": unique among the plans of one call.
  [[nodiscard]] const std::string& name() const noexcept;
  /// The mode that offered it first.
  [[nodiscard]] CudnnHeuristic heuristic() const noexcept;
  [[nodiscard]] const CudnnNotes& notes() const noexcept;
  /// Whether run() adds the bias. If the problem has one and this is false, the caller adds it.
  [[nodiscard]] bool adds_bias() const noexcept;

  /// Finalises the execution plan; engines compiled at run time take seconds. A repeated call checks only the limit.
  /// Throws Error{memory} if the plan needs more than `max_workspace_bytes`, and an Error of another kind, saying why,
  /// if cuDNN cannot finalise the configuration: heuristics do offer such ones; catch and count them.
  void prepare(std::size_t max_workspace_bytes);

  /// Bytes that run() needs at `workspace`. Throws Error{usage} before prepare().
  [[nodiscard]] std::size_t workspace_bytes() const;

  /// Starts the convolution on `stream`, without waiting. Tensors lie in device memory, in the layout of the plan's
  /// choice, and every pointer is a multiple of 16 bytes. `bias` is ignored unless adds_bias(); `workspace` may be null
  /// if workspace_bytes() is 0. The pointers are remembered, so that a repeated call costs only cuDNN's own launch.
  /// Throws Error{usage} before prepare() or on a null or misaligned pointer, Error{launch} if cuDNN fails to run it.
  void run(const void* input, const void* weight, const void* bias, void* output, void* workspace, void* stream);

 private:
  friend class Cudnn;
  struct State;
  explicit CudnnPlan(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// cuDNN 9, with a handle for one device.
class Cudnn {
 public:
  /// Throws Error{environment} if the library is missing or does not accept the device.
  explicit Cudnn(const Context& context);

  /// Like "9.19.0".
  [[nodiscard]] std::string version() const;

  /// Every configuration that cuDNN's heuristics offer for the convolution (backward-data for a transposed one), modes
  /// A, B and fallback in this order, without duplicates. Empty if cuDNN knows none. Tensors of the problem's types,
  /// sums in binary32 (of float64, in binary64). Throws Error{usage} for a problem that cuDNN cannot express, with the
  /// reason, and other Errors where it does not take the sizes.
  ///
  /// Configurations that convert the inputs to a 16-bit type are left out always, those that use tensor cores if these
  /// are not allowed: PyTorch's rules for float32. With a bias, plans of the fused operation graph (convolution, then
  /// addition) if there are any, else of the convolution alone; see adds_bias().
  ///
  /// What PyTorch runs by default (benchmark mode off) is the first configuration of mode A, for the problem without
  /// its bias (PyTorch adds a bias by a kernel of its own), height_one, that prepares and runs.
  [[nodiscard]] std::vector<CudnnPlan> plans(const Problem& problem, const CudnnChoice& choice) const;

 private:
  struct Session;
  friend class CudnnPlan;

  std::shared_ptr<const Session> session_;
};

}  // namespace tapconv::cuda
