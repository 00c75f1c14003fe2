#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/problem.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {

/// Where a convolution runs.
struct Device {
  enum class Kind { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;    ///< of the CUDA device; 0 for the CPU
  int threads = 0;  ///< of the CPU engine; 0: all cores, or what OMP_NUM_THREADS says. 0 for CUDA devices

  friend bool operator==(const Device&, const Device&) = default;
};

/// Reads "cpu", "cuda" (the first device) or "cuda:N". Throws SpellingError.
[[nodiscard]] Device parse_device(std::string_view text);

/// "cpu" or "cuda:N".
[[nodiscard]] std::string name(const Device& device);

/// "cuda:0" where there is a CUDA device, else "cpu".
[[nodiscard]] Device default_device();

/// What one solver said of a problem.
struct Verdict {
  std::string solver;
  bool supported = false;
  std::string reason;  ///< why not; empty if supported
};

/// The least times of a problem on a model of device.
struct TimeFloor {
  std::string device_name;
  double limit_ms = 0;      ///< physical: nothing is faster
  double reach_ms = 0;      ///< at the rates that good libraries sustain
  double plausible_ms = 0;  ///< the limit, less the writes that the cache can take up beyond the end of a call
  std::string bound_by;     ///< what decides reach_ms: "memory", "FFMA", "TF32" or "3xTF32"
};

/// How a problem would be computed.
struct PlanReport {
  Problem problem;
  Device device;
  std::string device_name;
  std::vector<std::int64_t> input_shape, weight_shape, output_shape;
  Work work;
  std::vector<TimeFloor> floors;  ///< on this device; on every device whose ceilings are known, if this one's are not
  std::vector<Verdict> verdicts;  ///< most specialised first
  std::string solver;             ///< the chosen one
  std::string configuration;      ///< for people: tiles, or the name of the implementation
  /// Of the chosen kernel; absent on a CPU.
  struct Kernel {
    int registers = 0;            ///< a thread
    int local_bytes = 0;          ///< a thread; not 0 means spills
    int static_shared_bytes = 0;  ///< a block
    std::int64_t blocks = 0;
    int threads = 0;  ///< a block
  };
  std::vector<Kernel> kernels;  ///< one a tap convolution
};

/// Plans without computing. Throws Error.
[[nodiscard]] PlanReport plan(const Problem& problem, const Device& device);

/// Told how far a long operation is (0 to 1) and what it is doing. May be empty.
using Progress = std::function<void(double fraction, std::string_view doing)>;

/// Which tensors to compute on: given, with any strides, in the problem's types; or drawn from a seed (input uniform in
/// [0, 1), weights and biases uniform in +-1/sqrt(fan-in), as PyTorch initialises a layer, the residual uniform in
/// (-1, 1); the same values on every device).
struct TensorSource {
  std::optional<Tensor> input, weight, bias, pointwise_weight, pointwise_bias, residual;  ///< drawn where absent
  std::uint64_t seed = 0;
};

/// `tensors` with those that it leaves out drawn, as far as the problem has them: exactly what run() computes on.
/// Throws Error{memory} if the host cannot hold them.
[[nodiscard]] TensorSource with_drawn(const Problem& problem, TensorSource tensors);

/// A result and what it took.
struct RunReport {
  Tensor output;
  Device device;
  std::string device_name;
  std::string solver;
  double plan_ms = 0;     ///< planning, with compilation
  double compute_ms = 0;  ///< the first call: the device's own time; without copies to and from it
};

/// Computes a convolution. Throws Error; the message names a tensor whose shape does not fit the problem.
[[nodiscard]] RunReport run(const Problem& problem, const Device& device, const TensorSource& tensors,
                            const Progress& progress = {});

}  // namespace tapconv
