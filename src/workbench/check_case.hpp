#pragma once

#include <optional>
#include <string>

#include "workbench/check_trial.hpp"

namespace tapconv {

/// What is asked of outputs.
enum class Demand {
  exact,     ///< sums that are exact, whatever the order, must be equal
  bound,     ///< that of the contract
  accuracy,  ///< the same, and an RMS error like that of honest summation
};

/// A case before it is judged.
struct CaseSpec {
  std::string tensors;
  Demand demand = Demand::bound;
  std::uint64_t seed = 0;    ///< of the choice of outputs
  std::int64_t samples = 0;  ///< how many outputs to examine; 0: all
  double unit = 1;           ///< of Demand::exact: operands are integers times this power of two
};

/// Judges results, and has the first wrong one explained.
class Examiner {
 public:
  explicit Examiner(const CheckRequest& request) : request_(request) {}

  /// Computes the trial's operands as they are, and judges. For small problems.
  CheckCase compute_and_judge(Trial& trial, const CaseSpec& spec);
  /// Judges what the trial computed last.
  CheckCase judge_computed(Trial& trial, const CaseSpec& spec);
  /// Judges the session's output as it is. Progress goes `from` ... `to`.
  CheckCase judge(Session& session, const CaseSpec& spec, double from, double to);
  /// Explains the session's output, unless a result was explained before.
  void explain(Session& session, std::span<const std::byte> earlier, std::span<const std::int64_t> suspects);
  void tell(double fraction, std::string_view doing);

  [[nodiscard]] const std::optional<Diagnosis>& diagnosis() const { return diagnosis_; }

 private:
  const CheckRequest& request_;
  double fraction_ = 0;
  std::optional<Diagnosis> diagnosis_;
};

/// Whether a case has nothing to object to.
[[nodiscard]] bool is_right(const CheckCase& item);

/// How many outputs of a trial's problem to examine a case.
[[nodiscard]] std::int64_t trial_samples(const Session& session, const Device& device);

}  // namespace tapconv
