#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapconv/engine.hpp"

namespace tapconv {

/// How a result's products were added, as far as its errors show it.
enum class Summation {
  undecided,  ///< sums too short, outputs of 16 bits, a smooth activation, or an unknown arithmetic
  once,       ///< exactly, and rounded once
  chain,      ///< one binary32 fused multiply-add after the other, channels then taps: bit for bit
  rounded,    ///< in binary32, rounded to nearest, in another order
  truncated,  ///< errors point towards zero: additions truncate, as those of tensor cores do
};

/// "undecided", "once", "chain", "rounded" or "truncated".
[[nodiscard]] std::string_view name(Summation summation) noexcept;

/// Whose arithmetic to name, and on which tensors.
struct FingerprintRequest {
  Problem problem;
  Device device;
  /// Each at most once: "engine"; "cudnn" (on cuda) or "onednn" (on cpu), every configuration of a library; "torch",
  /// PyTorch at its default settings in a process of its own; "torch-benchmark", the same with its benchmark mode on.
  std::vector<std::string> of = {"engine"};
  /// A result that somebody computed from `tensors`, judged beside those in `of`, which may then be empty.
  std::optional<Tensor> output;
  /// What `output` was computed from. Everything else computes on tensors drawn from the seed that show the arithmetic
  /// best: sums of about 256 numbers of 12 bits.
  TensorSource tensors;
  double worker_timeout_s = 180;  ///< 1 to 3600: PyTorch is given up after so long without an answer
  Progress progress;
};

/// How well a rounding of the operands explains a result.
struct FingerprintHypothesis {
  std::string arithmetic;  ///< "fp32", "tf32-rna", ...
  bool possible = true;    ///< false: finite where the result is not, or the other way round; the rest is then 0
  /// Of the result's distance from the exact sum on this hypothesis' distance from it: both 1 if the result was
  /// computed so. 0 for exact operands.
  double slope = 0, correlation = 0;
  double rms_distance = 0;  ///< of the result from the exact sum over operands rounded so
  bool as_good = false;     ///< the outputs do not tell it from the best hypothesis
};

/// The arithmetic of one thing that computes a problem.
struct FingerprintEntry {
  std::string name;                       ///< solver; library, version, engine; "given output"
  std::string source;                     ///< as in FingerprintRequest::of; "file"
  std::vector<std::string> layouts;       ///< "contiguous", "channels-last"
  int configurations = 1;                 ///< of the library that have this name and arithmetic
  std::string arithmetic;                 ///< "fp32", "tf32-rna", ..., "undecided" or "unknown"
  std::vector<std::string> alternatives;  ///< if undecided, those that explain the result equally well
  std::vector<FingerprintHypothesis> hypotheses;
  Summation summation = Summation::undecided;
  std::int64_t outputs = 0;    ///< that were examined
  double rms_error = 0;        ///< against the exact sum in this arithmetic
  double chain_rms_error = 0;  ///< of a chain of fused multiply-adds, against the same
};

/// Something that could not be asked.
struct FingerprintRefusal {
  std::string name, source, reason;
};

/// The arithmetics of a problem.
struct FingerprintReport {
  Problem problem;
  Device device;
  std::string device_name;
  std::vector<FingerprintEntry> entries;
  std::vector<FingerprintRefusal> refusals;
  std::map<std::string, std::string> versions;  ///< of what PyTorch used, as it says
  bool as_declared = true;                      ///< the engine's arithmetic fits the problem's contract
  /// What PyTorch was found to compute a published problem in, on this model of device; empty if nobody looked.
  std::string reference_arithmetic;
  std::optional<bool> agrees;  ///< whether "torch" shows that; absent if it is not known or was not asked
};

/// Names the arithmetic of each. What does not run is among the refusals. Throws Error.
[[nodiscard]] FingerprintReport fingerprint(const FingerprintRequest& request);

/// One problem of a suite.
struct FingerprintRow {
  NamedProblem named;
  std::string date;                         ///< when it was asked: UTC, ISO 8601
  double seconds = 0;                       ///< until the answer was there
  std::optional<FingerprintReport> report;  ///< absent if nothing could be asked
  std::string reason;                       ///< why not
};

/// The same of each of `problems`, by `request` (whose own problem is ignored). PyTorch's process serves all. An Error
/// of a problem is its row's reason. Throws Error{usage} for a request that no problem can be asked by.
void fingerprint_suite(const std::vector<NamedProblem>& problems, const FingerprintRequest& request,
                       const std::function<void(const FingerprintRow&)>& done);

/// What PyTorch at its default settings was found to compute `problem` in on this model of device: the published
/// problem's reference_arithmetic, whatever the problem's own contract. Empty if that is not known.
[[nodiscard]] std::string reference_arithmetic(const Problem& problem, std::string_view device_name);

/// Whether a fingerprint's `arithmetic` is what `reference`, a reference_arithmetic(), says. Of a depthwise separable
/// problem hypotheses are about the pointwise half, so TF32 to nearest is "depthwise fp32, pointwise tf32".
[[nodiscard]] bool same_arithmetic(std::string_view reference, std::string_view arithmetic) noexcept;

}  // namespace tapconv
