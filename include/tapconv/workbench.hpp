#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/diagnosis.hpp"
#include "tapconv/engine.hpp"

namespace tapconv {

/// The tensors of a problem in host memory: dense in its types and layout; absent where it has none.
struct HostViews {
  TensorView input, weight;
  std::optional<TensorView> bias{}, pointwise_weight{}, pointwise_bias{}, residual{};
  MutableTensorView output;
};

/// Somebody's implementation of convolutions, to be checked.
struct HostFunction {
  std::string name;  ///< for people
  /// Computes a problem: writes every output and nothing else, and keeps no pointer when it returns. It is called many
  /// times, for the problem of the check and for others like it, with other numbers at the same addresses. Throws
  /// Error{usage} for a problem that it does not take.
  std::function<void(const Problem& problem, const HostViews& tensors)> compute;
};

/// The stages of a check, in order: docs/numerics.md says what each demands.
inline constexpr std::string_view check_stages[] = {"integers",      "impulses",   "full",    "fingerprint",
                                                    "distributions", "neighbours", "special", "integrity"};

/// What to check, and against what.
struct CheckRequest {
  Problem problem;
  Device device;
  TensorSource tensors;
  std::optional<HostFunction> function;  ///< computes in the engine's place; with its name
  std::string solver;                    ///< of the engine, by name, at its best configuration (on cuda); empty: any
  /// A result that somebody computed from `tensors`, judged in the place of the engine's. With any strides, in the
  /// problem's output type.
  std::optional<Tensor> output;
  std::string against;  ///< "cudnn" (on cuda), "onednn" (on cpu), or empty: the oracle alone
  /// How many outputs to examine, spread over all; 0: every one. Absent: as many as take about a second.
  std::optional<std::int64_t> samples;
  std::vector<std::string> stages;  ///< of check_stages; empty: all that apply
  /// From which tensors are drawn, those given and those of `full` and `fingerprint` excepted. Absent: nobody knows it
  /// beforehand.
  std::optional<std::uint64_t> secret_seed;
  Progress progress;
};

/// The outputs of one set of tensors, judged by the oracle under the problem's contract.
struct CheckCase {
  std::string tensors;                    ///< "given", "uniform", "sparse", "ties", "exact integers", "normal", ...
  std::string problem;                    ///< that was computed, if it is another than its stage's: canonical spelling
  bool exact = false;                     ///< outputs with exact sums must be equal to them: `violations` counts others
  std::int64_t outputs = 0;               ///< how many were examined
  std::int64_t violations = 0;            ///< beyond the contract's bound
  std::int64_t nans = 0;                  ///< NaN where the oracle has a number
  std::optional<std::int64_t> unwritten;  ///< left as they were before the call; absent for a given output
  double worst_ratio = 0;                 ///< largest |error| / bound
  std::vector<std::int64_t> worst_place;  ///< where it is: (n, k, spatial...)
  double worst_actual = 0, worst_expected = 0;
  double max_error = 0, rms_error = 0;
  double sequential_rms_error = 0;  ///< of a chain of binary32 FMAs over the same operands
  /// Whether the RMS error is like that of honest summation (docs/numerics.md). Not asked of tensors that are sparse or
  /// whose magnitudes differ much, of TF32, and where the chain errs in fewer than 64 outputs: true.
  bool accurate = true;
};

/// One stage of a check.
struct CheckStage {
  enum class Result { passed, failed, skipped };
  std::string name;  ///< one of check_stages
  Result result = Result::passed;
  std::string reason;              ///< what is wrong, or why it was skipped; no full stop
  std::string problem;             ///< that it ran on, in canonical spelling: the check's own, or one reduced from it
  std::vector<CheckCase> cases;    ///< those of "full" are CheckReport::cases
  std::vector<std::string> notes;  ///< what was not examined, and why
};

/// "passed", "failed", "skipped".
[[nodiscard]] std::string_view name(CheckStage::Result result) noexcept;

/// The reference beside the result, on the first case's tensors.
struct ReferenceVerdict {
  std::string name;                        ///< library, version, engine
  std::string arithmetic;                  ///< its fingerprint
  double rms_error = 0;                    ///< against the exact sum over the operands as given
  double own_rms_error = 0;                ///< of the result, against the same
  double atol = 1e-4, rtol = 1e-4;         ///< 1e-2 for 16-bit outputs
  std::int64_t outputs = 0, failures = 0;  ///< of the customary check |result - reference| <= atol + rtol |reference|
  double max_difference = 0;
  std::int64_t explained = 0;  ///< of the failures: gone once the exact sum over operands rounded as `arithmetic` says
                               ///< stands in for the result
};

/// A judged result.
struct CheckReport {
  Problem problem;
  Device device;
  std::string device_name, solver;
  std::vector<CheckCase> cases;        ///< on the problem itself, of the stage "full"
  std::vector<CheckStage> stages;      ///< in order
  std::uint64_t secret_seed = 0;       ///< with this one the check can be repeated
  std::optional<Diagnosis> diagnosis;  ///< of the first wrong result
  std::string arithmetic;  ///< the result's fingerprint; empty if that was not asked; "undecided": `indistinguishable`
                           ///< explain it equally well
  std::vector<std::string> indistinguishable;  ///< only of a given output: its tensors may not show the arithmetic
  std::string expected_arithmetic;             ///< what the contract declares
  std::optional<ReferenceVerdict> reference;
  bool passed = false;
  std::string sentence;  ///< the verdict in words
};

/// Computes the problem and judges it, stage by stage. "full" is the problem itself: on the given or seeded tensors, on
/// sparse ones (few products a sum, where bounds bite) and on ones full of ties, which show the operands' rounding to
/// "fingerprint". The others compute often, on the problem if it is small, else on reduced(problem). A given output is
/// judged by these two stages, on the given or seeded tensors alone; on a CPU that needs no CPU engine. Throws Error.
[[nodiscard]] CheckReport check(const CheckRequest& request);

/// What to time, and against what.
struct BenchRequest {
  Problem problem;
  Device device;
  /// Each at most once: "cudnn" (on cuda) or "onednn" (on cpu), every configuration of a library; "torch", PyTorch at
  /// its default settings in a process of its own; "torch-benchmark", the same with torch.backends.cudnn.benchmark on
  /// from the start. None: the engine alone.
  std::vector<std::string> against;
  std::uint64_t seed = 0;
  int rounds = 15;                ///< 1 to 1000; each times every contender once, in random order
  double idle_ms = 40;            ///< before every timed call; 0 to 10000
  double sustained_s = 0.5;       ///< of back-to-back calls, 0 to 60; 0: not measured
  int finalists = 5;              ///< 1 to 100: so many configurations of the library are measured by the full protocol
  double worker_timeout_s = 180;  ///< 1 to 3600: PyTorch is given up after so long without an answer
  Progress progress;
};

/// One contender's times.
struct BenchEntry {
  std::string name;
  std::string layout;              ///< "contiguous" or "channels-last"
  std::string arithmetic;          ///< its fingerprint
  std::vector<std::string> notes;  ///< "tensor cores", "winograd", "fft", ...
  double spaced_ms = 0;            ///< median: idle before each call, cold L2, fresh inputs
  double spaced_min_ms = 0, spaced_max_ms = 0;
  std::vector<double> spaced_rounds_ms;  ///< of each round that counts, in their order
  double sustained_ms = 0;               ///< median of the second half of back-to-back calls; 0 if not measured
  double sustained_wall_ms = 0;          ///< the same by the host's clock around each call; 0 if not measured
  double max_bound_ratio = 0;  ///< of timed calls' outputs, against the bound of the arithmetic; above 1 is wrong
  /// RMS and largest |output - exact| over the RMS of the exact outputs, of some outputs of every timed call: exact
  /// sums of the operands as they are, whatever the contract rounds. Nothing where all of these are 0.
  std::optional<double> rms_error, max_error;
  std::optional<double> reach_share;  ///< reach time / spaced time, at the contract that the arithmetic belongs to
  bool implausible = false;           ///< faster than the physical limit, or two clocks disagree
  std::string doubt;                  ///< why it is implausible; empty if it is not
};

/// The engine against the best reference.
struct BenchReport {
  Problem problem;
  Device device;
  std::string device_name;
  std::string configuration;  ///< of the engine's solver, for people
  BenchEntry engine;
  std::vector<BenchEntry> references;  ///< the library's configurations that were measured, best first
  /// Every configuration that the library offered, in its order.
  struct Trial {
    std::string name, layout;
    std::vector<std::string> notes;
    double ms = 0;       ///< of one call with cold caches; 0 if it was refused
    std::string reason;  ///< why it was refused; empty if it ran
  };
  std::vector<Trial> trials;
  std::string refusal;  ///< why the library has no configuration for the problem; only bench_suite() lets that pass
  /// What PyTorch took. Measured by itself, not in pairs with the engine.
  struct Framework {
    std::string name;                             ///< as in BenchRequest::against
    std::optional<BenchEntry> entry;              ///< absent if it failed
    std::string reason;                           ///< why it failed
    std::map<std::string, std::string> versions;  ///< of what it used, as it says
  };
  std::vector<Framework> frameworks;
  int rounds = 0;           ///< that count
  int dropped_rounds = 0;   ///< for thermal or hardware slowdown
  bool as_declared = true;  ///< the engine's fingerprint fits the contract
  /// Time of the best reference whose outputs are right and times plausible / engine time, over rounds: median and its
  /// 95 % interval. Above 1: the engine is faster.
  struct Ratio {
    std::string reference, arithmetic;  ///< name and fingerprint of the best reference
    double median = 0, low = 0, high = 0;
    bool converged = false;  ///< six rounds or more, and the interval is within 2 % of the median
  };
  std::optional<Ratio> ratio;  ///< absent without a reference
  std::optional<TimeFloor> floor;
  std::map<std::string, double> clocks;  ///< medians over timed calls: "sm_mhz", "power_w", ...; empty if unknown
  bool power_capped = false;
};

/// Times the engine, and references beside it, by the rules of docs/measuring.md. Throws Error; that PyTorch fails is
/// said in the report.
[[nodiscard]] BenchReport bench(const BenchRequest& request);

/// One problem of a suite.
struct SuiteRow {
  NamedProblem named;
  std::string date;                   ///< when it was measured: UTC, ISO 8601
  double seconds = 0;                 ///< that measuring took
  std::optional<BenchReport> report;  ///< absent if the engine could not be measured
  std::string reason;                 ///< why not
};

/// Benches each of `problems` by the protocol of `request` (whose own problem is ignored) and hands each row to `done`.
/// An Error of a problem is its row's reason, and that a reference refuses a problem is said in its report. PyTorch's
/// process serves all problems. Throws Error{usage} for a request that no problem could be measured by.
void bench_suite(const std::vector<NamedProblem>& problems, const BenchRequest& request,
                 const std::function<void(const SuiteRow&)>& done);

/// SHA-256 over the library's device code and what compiles and launches it; scripts/evidence.py says over what.
[[nodiscard]] std::string_view device_code_sha256() noexcept;

/// Facts of a device and ceilings measured on it now.
struct SpecsReport {
  Device device;
  std::string device_name;
  std::map<std::string, std::string> facts;     ///< like "multiprocessors": "132"
  std::map<std::string, double> measured;       ///< like "copy_TB_per_s": 4.2; units in the names
  std::map<std::string, std::string> versions;  ///< of driver and libraries that are present
};

/// The same without measuring. Throws Error{environment} if there is no such device.
[[nodiscard]] SpecsReport describe(const Device& device);

/// Throws Error{environment} if there is no such device.
[[nodiscard]] SpecsReport specs(const Device& device, const Progress& progress = {});

}  // namespace tapconv
