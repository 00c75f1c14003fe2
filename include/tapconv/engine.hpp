#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/problem.hpp"
#include "tapconv/tensor.hpp"

namespace tapconv {

/// Where a convolution runs, or for which device it is planned.
struct Device {
  enum class Kind {
    cpu,
    cuda,
    model,  ///< a device that is known but need not be there: plan() takes it, everything that computes refuses it
  };
  Kind kind = Kind::cpu;
  int index = 0;           ///< of the CUDA device; 0 for the CPU
  int threads = 0;         ///< of the CPU engine; 0: all cores, or what OMP_NUM_THREADS says. 0 for CUDA devices
  std::string model = {};  ///< the known device's short name, like "h200"; empty for the other kinds

  friend bool operator==(const Device&, const Device&) = default;
};

/// Reads "cpu", "cuda" (the first device), "cuda:N" or a model: "h200", "h100", "a100", "l40s", "rtx4090", "b200" or
/// "rtx5090". Throws SpellingError.
[[nodiscard]] Device parse_device(std::string_view text);

/// "cpu", "cuda:N" or "h200".
[[nodiscard]] std::string name(const Device& device);

/// "cuda:0" where there is a CUDA device, else "cpu".
[[nodiscard]] Device default_device();

/// What one solver said of a problem.
struct Verdict {
  std::string solver;
  bool supported = false;
  std::string reason;                       ///< why not; empty if supported
  std::string configuration = {};           ///< the one that its cost model prefers; empty if there is no model
  std::optional<double> predicted_ms = {};  ///< what the model expects of it
};

/// The least times of a problem on a model of device.
struct TimeFloor {
  std::string device_name;
  double limit_ms = 0;         ///< physical: nothing is faster
  double reach_ms = 0;         ///< at the rates that good libraries sustain
  double plausible_ms = 0;     ///< the limit, less the writes that the cache can take up beyond the end of a call
  std::string bound_by;        ///< what decides reach_ms: "memory", "FFMA", "TF32" or "3xTF32"
  bool reach_derived = false;  ///< reach_ms rests on shares measured on another device
};

/// One launch of a plan.
struct PlannedKernel {
  std::string entry;  ///< the kernel's name
  std::int64_t blocks = 0;
  int threads = 0;               ///< a block
  int dynamic_shared_bytes = 0;  ///< a block
  /// What the compiler made of it; absent if it was not compiled, see PlanReport::not_compiled.
  struct Resources {
    int registers = 0;            ///< a thread
    int local_bytes = 0;          ///< a thread; not 0 means spills or a local array
    int static_shared_bytes = 0;  ///< a block
  };
  std::optional<Resources> resources = {};
};

/// How one plain problem would be computed: a whole problem, or one half of a depthwise separable one.
struct PlannedStage {
  Problem problem;                ///< see stages()
  std::vector<Verdict> verdicts;  ///< of every solver, the most specialised first
  std::string solver;             ///< the chosen one
  std::string configuration;      ///< tiles, or the name of the implementation
  bool tuned = false;             ///< chosen by the plan database, not by the cost models
  // The rest is of CUDA devices alone.
  std::optional<TimeFloor> floor = {};
  std::optional<double> predicted_ms = {};  ///< by the cost model of the chosen solver
  double waves = 0;                         ///< blocks over those that the device holds at a time
  double edge_waste = 0;                    ///< share of the computed products that no output needs
  std::string k_order = {};                 ///< in which order products are added; equal orders give equal bits
  std::size_t packed_bytes = 0;             ///< of weights that are packed beforehand
  std::vector<PlannedKernel> kernels = {};
};

/// How a problem would be computed.
struct PlanReport {
  Problem problem;
  Device device;
  std::string device_name;
  std::vector<std::int64_t> input_shape, weight_shape, output_shape;
  Work work;
  std::vector<TimeFloor> floors;  ///< on this device; on those whose `reach` was measured, if this one's is not known
  std::string solver;             ///< of all stages: "direct", "direct, direct", "oneDNN"
  std::string configuration;      ///< of all stages
  std::vector<PlannedStage> stages;
  std::size_t workspace_bytes = 0;  ///< that a call works in, on the device
  std::string architecture;         ///< that the kernels are compiled for: "90a"; empty on a CPU
  std::string not_compiled;         ///< why the kernels were not compiled; empty if they were
};

/// Plans without computing, for a model without a GPU. Kernels are compiled if NVRTC is there, which a CUDA device
/// needs. Throws Error.
[[nodiscard]] PlanReport plan(const Problem& problem, const Device& device);

/// A translation unit as NVRTC compiles it, with --std=c++20 --device-as-default-execution-space.
struct PlannedSource {
  std::string stage;  ///< the plain problem that it is a kernel of, in canonical spelling
  std::string entry;
  std::string text;
};

/// The translation units of a problem's plan, one a kernel, in the order of their launches. With `inlined` the
/// library's headers are written out in place, so that a text compiles without them; each text in a file of its own,
/// because they define the same names. Throws Error{usage} for the CPU.
[[nodiscard]] std::vector<PlannedSource> plan_sources(const Problem& problem, const Device& device,
                                                      bool inlined = false);

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
