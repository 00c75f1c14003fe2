#include <algorithm>
#include <cstring>

#include "problem/element_places.hpp"
#include "problem/text.hpp"
#include "workbench/check_stages.hpp"
#include "workbench/distributions.hpp"
#include "workbench/judge.hpp"

namespace tapconv {
namespace {

/// Number of elements whose bits differ in two outputs, and the first of them.
struct Difference {
  std::int64_t outputs = 0;
  std::vector<std::int64_t> first;
};

Difference difference(const Problem& problem, std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t bytes = element_bytes(problem.out_dtype);
  const ElementPlaces places(output_shape(problem), problem.layout);
  Difference found;
  for (std::int64_t i = 0; i < element_count(output_shape(problem)); ++i) {
    const std::size_t place = static_cast<std::size_t>(places(i)) * bytes;
    if (std::memcmp(a.data() + place, b.data() + place, bytes) == 0) continue;
    if (found.outputs++ == 0) found.first = output_place(problem, i);
  }
  return found;
}

/// A copy of operands.
class OperandsCopy {
 public:
  explicit OperandsCopy(const Operands& operands) {
    for (const std::span<const std::byte> bytes : in_order(operands)) copies_.emplace_back(bytes.begin(), bytes.end());
  }

  /// The first operand that is another one now; empty: none.
  [[nodiscard]] std::string_view changed(const Operands& now) const {
    constexpr std::string_view names[] = {"input", "weight", "bias", "pointwise weight", "pointwise bias", "residual"};
    const auto spans = in_order(now);
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!std::ranges::equal(copies_[i], spans[i])) return names[i];
    }
    return "";
  }

 private:
  std::vector<std::vector<std::byte>> copies_;
};

class Integrity {
 public:
  explicit Integrity(const StageContext& context)
      : context_(context),
        trial_(context.trial),
        session_(context.trial.session()),
        problem_(context.trial.problem()),
        operands_(draw_operands(problem_, Distribution::normal, context.seed)),
        others_(draw_operands(problem_, Distribution::normal, context.seed + 1)) {}

  CheckStage run() {
    session_.upload(operands_.operands());
    const OperandsCopy before(session_.host_operands());
    judge("normal");
    const std::vector<std::byte> first = output_bytes(session_);
    expect_same_again(first);
    expect_same_over_numbers(first);
    if (const std::string_view name = before.changed(session_.host_operands()); !name.empty())
      object(fmt::format("computing changed the {}", name));
    expect_no_trespass();
    session_.upload({.input = {},
                     .weight = others_.weight,
                     .bias = {},
                     .pointwise_weight = others_.pointwise_weight,
                     .pointwise_bias = {},
                     .residual = {}});
    judge("other weights at the same addresses");
    session_.upload({.input = others_.input,
                     .weight = {},
                     .bias = {},
                     .pointwise_weight = {},
                     .pointwise_bias = {},
                     .residual = others_.residual});
    const std::vector<std::byte> last = judge("other inputs at the same addresses");
    // Judging took a while: who still writes is seen.
    if (const Difference late = difference(problem_, last, output_bytes(session_)); late.outputs > 0)
      object(fmt::format("{} outputs changed after the computation had ended, the first one at ({})", late.outputs,
                         fmt::join(late.first, ", ")));
    expect_no_trespass();
    return std::move(stage_);
  }

 private:
  void object(std::string reason) {
    if (stage_.result == CheckStage::Result::failed) return;
    stage_.result = CheckStage::Result::failed;
    stage_.reason = std::move(reason);
  }

  /// Returns the output as it was before it was judged.
  std::vector<std::byte> judge(const char* name) {
    const CaseSpec spec{.tensors = name,
                        .demand = Demand::bound,
                        .seed = context_.seed,
                        .samples = trial_samples(session_, context_.request.device)};
    trial_.compute(true);
    std::vector<std::byte> output = output_bytes(session_);
    add_case(stage_, context_.examiner.judge_computed(trial_, spec), problem_);
    return output;
  }

  void expect_same_again(std::span<const std::byte> first) {
    trial_.compute(true);
    if (const Difference again = difference(problem_, first, output_bytes(session_)); again.outputs > 0)
      object(fmt::format("computing the same again gives other bits in {} outputs, the first one at ({})",
                         again.outputs, fmt::join(again.first, ", ")));
  }

  /// The output begins as numbers instead of NaNs.
  void expect_same_over_numbers(std::span<const std::byte> first) {
    session_.upload_output(std::vector<std::byte>(first.size(), std::byte{0x5a}));
    compute_over_output(session_, trial_.subject());
    if (const Difference over = difference(problem_, first, output_bytes(session_)); over.outputs > 0)
      object(fmt::format("{} outputs depend on what the output held before, or are not written, the first one at ({})",
                         over.outputs, fmt::join(over.first, ", ")));
  }

  void expect_no_trespass() {
    if (std::string what = trial_.subject().trespass(); !what.empty()) object(std::move(what));
  }

  const StageContext& context_;
  Trial& trial_;
  Session& session_;
  const Problem& problem_;
  HostTensors operands_, others_;
  CheckStage stage_;
};

}  // namespace

CheckStage check_integrity(const StageContext& context) { return Integrity(context).run(); }

}  // namespace tapconv
