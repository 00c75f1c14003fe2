#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oracle/oracle.hpp"
#include "plan/planner.hpp"
#include "tapconv/engine.hpp"
#include "tapconv/shared.cuh"

namespace tapconv {

/// Recipes for the operands of a problem.
struct Recipes {
  shared::Recipe input, weight, bias, pointwise_weight, pointwise_bias, residual;
};

/// Outputs as stored.
struct Outputs {
  std::vector<double> values;
  std::vector<bool> unwritten;  ///< still what poison() left
};

/// Something that computes a session's problem from its operands into its output.
class Executable {
 public:
  virtual ~Executable() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string layout() const { return "contiguous"; }
  [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
  /// Gets ready for the operands as they are now: layouts, packed weights. Not timed.
  virtual void prepare() {}
  /// The computation, the only timed part. On a GPU it only starts it.
  virtual void run() = 0;
  /// Brings the result into the session's output. Not timed.
  virtual void finish() {}
  /// What the last run has written so far beside its output, or changed of the output after it had ended, in words;
  /// empty: nothing that can be seen.
  [[nodiscard]] virtual std::string trespass() { return {}; }
};

/// A problem's tensors on one device, with the oracle over them and the things that compute them. Not thread-safe.
class Session {
 public:
  static std::unique_ptr<Session> open(const Problem& problem, const Device& device);
  virtual ~Session() = default;

  /// What poison() fills the output with.
  static constexpr unsigned char poison_byte = 0xff;

  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] virtual std::string device_name() const = 0;

  /// Draws all operands; the element with logical index i is a function of its recipe and i alone, rounded to its type.
  virtual void fill(const Recipes& recipes) = 0;
  /// Replaces operands; empty spans keep what is there.
  virtual void upload(const Operands& operands) = 0;
  /// The operands as they are now. The memory is the session's own and is good until they change.
  [[nodiscard]] virtual Operands host_operands() = 0;
  /// Fills the output with the NaN whose bits are all set.
  virtual void poison() = 0;
  /// Puts a result that somebody else computed in the output's place: dense, in the problem's type and layout.
  virtual void upload_output(std::span<const std::byte> output) = 0;
  /// The outputs with these linear indices (logical, whatever the layout).
  [[nodiscard]] virtual Outputs gather(std::span<const std::int64_t> outputs) = 0;
  [[nodiscard]] virtual std::vector<OracleOutput> evaluate(std::span<const std::int64_t> outputs,
                                                           OperandRounding rounding) = 0;
  /// The whole output, dense in the problem's layout.
  [[nodiscard]] virtual Tensor download() = 0;

  /// The engine's own computation of the problem; planned at the first call.
  virtual Executable& engine() = 0;
  /// The same with other plans, on the same tensors: the session outlives it. Throws Error{usage} but on CUDA devices.
  [[nodiscard]] virtual std::unique_ptr<Executable> engine_by(const Chooser& chooser);
  /// Every configuration of the named library. Throws Error{usage} for a library that does not run on this device.
  [[nodiscard]] virtual std::vector<std::unique_ptr<Executable>> references(const std::string& library) = 0;
  /// What the library runs by default, beside which results are usually judged.
  [[nodiscard]] virtual std::unique_ptr<Executable> default_reference(const std::string& library) = 0;

  /// Evicts the caches' content.
  virtual void chill() = 0;
  /// Lets the device wait a moment, for what the host asks for next to be there when it goes on: else the host's delay
  /// is in the time of a call.
  virtual void hold() {}
  /// Milliseconds of one run(), by the device's clock.
  [[nodiscard]] virtual double time(Executable& executable) = 0;
  /// Waits until everything that was started is done.
  virtual void synchronize() {}
  /// Clocks and power now, and whether the device slows itself down; empty where unknown.
  struct Condition {
    std::map<std::string, double> readings;
    bool power_capped = false;
    bool slowed = false;  ///< thermal or hardware slowdown
  };
  [[nodiscard]] virtual Condition condition() { return {}; }

 protected:
  explicit Session(const Problem& problem) : problem_(problem) {}

 private:
  Problem problem_;
};

/// The largest number of products of one output of a plain problem: channels of a group times taps.
[[nodiscard]] double products_of_output(const Problem& problem);

/// The recipes of a layer as PyTorch initialises it, with inputs uniform in [0, 1).
[[nodiscard]] Recipes uniform_recipes(const Problem& problem, std::uint64_t seed);
/// Few non-zero products a sum, signed.
[[nodiscard]] Recipes sparse_recipes(const Problem& problem, std::uint64_t seed);
/// Half the operands are ties between neighbouring TF32 numbers; weights lie where fp16 loses bits; about 256 products
/// a sum at most are not zero.
[[nodiscard]] Recipes tie_recipes(const Problem& problem, std::uint64_t seed);

/// Checks given tensors' shapes and types and uploads them over what fill() drew. Throws Error{usage} naming the
/// tensor.
void upload_given(Session& session, const TensorSource& tensors);

/// Puts a given result in the output's place. Throws Error{usage} if its shape or type is not the problem's.
void upload_given_output(Session& session, const Tensor& output);

}  // namespace tapconv
