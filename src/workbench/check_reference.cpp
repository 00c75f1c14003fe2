#include "workbench/check_reference.hpp"

#include <algorithm>

#include "oracle/statistics.hpp"
#include "workbench/judge.hpp"

namespace tapconv {

ReferenceComparison::ReferenceComparison(Session& session, const CheckRequest& request)
    : session_(session), seed_(request.tensors.seed) {
  const Problem& problem = session.problem();
  const auto outputs = sample_outputs(problem, std::min<std::int64_t>(default_samples(problem, request.device), 65536),
                                      request.tensors.seed);
  own_ = session.gather(outputs).values;
  reference_ = session.default_reference(request.against);
  execute(session, *reference_);
  theirs_ = session.gather(outputs).values;
  for (const OperandRounding rounding : all_operand_roundings) {
    std::vector<double>& sums = sums_.emplace_back();
    for (const OracleOutput& output : session.evaluate(outputs, rounding)) {
      sums.push_back(round_to(output.value, problem.out_dtype));
      if (rounding == OperandRounding::exact) exact_.push_back(output.value);
    }
  }
}

ReferenceVerdict ReferenceComparison::judge() {
  execute(session_, *reference_);
  const Fingerprint print = fingerprint_output(session_, seed_);
  ReferenceVerdict verdict{.name = reference_->name(), .arithmetic = print.name()};
  RootMeanSquare own_error, their_error;
  for (std::size_t i = 0; i < exact_.size(); ++i) {
    own_error.add(own_[i] - exact_[i]);
    their_error.add(theirs_[i] - exact_[i]);
  }
  verdict.own_rms_error = own_error.value();
  verdict.rms_error = their_error.value();
  if (element_bytes(session_.problem().out_dtype) == 2) verdict.atol = verdict.rtol = 1e-2;
  Closeness closeness{.atol = verdict.atol, .rtol = verdict.rtol};
  closeness.add(own_, theirs_);
  verdict.outputs = closeness.count;
  verdict.failures = closeness.failures;
  verdict.max_difference = closeness.max_difference;
  if (print.known) {
    Closeness rounded{.atol = verdict.atol, .rtol = verdict.rtol};
    rounded.add(sums_[static_cast<std::size_t>(print.rounding)], theirs_);
    verdict.explained = std::max<std::int64_t>(0, closeness.failures - rounded.failures);
  }
  return verdict;
}

}  // namespace tapconv
