#pragma once

#include <memory>
#include <vector>

#include "engine/session.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {

/// A problem's tensors on a check's device, and what is checked, ready to compute it.
class Trial {
 public:
  /// `request` outlives the trial. Throws what planning throws.
  Trial(const CheckRequest& request, const Problem& problem);

  [[nodiscard]] Session& session() { return *session_; }
  [[nodiscard]] const Problem& problem() const { return session_->problem(); }
  /// Planned at the first call.
  [[nodiscard]] Executable& subject();

  /// What the run before the last one left in the output, if compute() was asked to keep it.
  [[nodiscard]] std::span<const std::byte> earlier() const { return earlier_; }
  /// Computes the operands as they are into a poisoned output. `keep` is for small problems.
  void compute(bool keep);

 private:
  const CheckRequest& request_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Executable> own_;
  std::vector<std::byte> earlier_;
  bool computed_ = false;
};

/// The problem that stages run on which compute many times: the request's own if it is small, else a reduced one.
[[nodiscard]] Problem trial_problem(const CheckRequest& request);

/// The output of a session, dense.
[[nodiscard]] std::vector<std::byte> output_bytes(Session& session);

}  // namespace tapconv
