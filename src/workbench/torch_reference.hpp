#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "tapconv/workbench.hpp"
#include "workbench/worker.hpp"

namespace tapconv {

/// What PyTorch computed.
struct TorchOutputs {
  std::string name;                             ///< with its version
  std::vector<double> outputs;                  ///< those that fingerprint_samples() names
  std::map<std::string, std::string> versions;  ///< of what it used, as it says
  std::string reason;                           ///< why there are no outputs; empty if there are
};

/// PyTorch in a process of its own (python/tapconv_reference.py), started when it is first needed and kept for other
/// problems. The interpreter is $TAPCONV_PYTHON, or python3. The process is trusted with nothing: it gets seeds, and
/// what it says is judged here.
class TorchReference {
 public:
  /// `name` is "torch", or "torch-benchmark": torch.backends.cudnn.benchmark is on from the start.
  explicit TorchReference(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Times the session's problem by the protocol of `request` and judges every timed call's outputs. The session's
  /// operands are drawn anew. Whatever goes wrong is the reason in the result.
  [[nodiscard]] BenchReport::Framework measure(Session& session, const BenchRequest& request);

  /// Computes a problem once, on tie_recipes() of the seed. Whatever goes wrong is the reason in the result.
  [[nodiscard]] TorchOutputs outputs_on_ties(const Problem& problem, const Device& device, std::uint64_t seed,
                                             double timeout_s);

 private:
  [[nodiscard]] std::string ask(const std::string& line, double timeout_s);

  std::string name_;
  std::unique_ptr<Worker> worker_;
  std::string broken_;  ///< why a process never answered; no other is started then
  bool answered_ = false;
};

}  // namespace tapconv
