#include "workbench/check_stages.hpp"
#include "workbench/impulses.hpp"

namespace tapconv {
namespace {

class ImpulseStage {
 public:
  explicit ImpulseStage(const StageContext& context) : context_(context), problem_(context.trial.problem()) {}

  CheckStage run() {
    for (const std::int64_t first : impulse_passes(problem_, 6)) {
      const bool failed = stage_.result == CheckStage::Result::failed;
      judge(weight_impulses(problem_, first), Demand::exact, 0);
      const CheckCase& item = stage_.cases.back();
      if (!failed && !is_right(item) && item.unwritten.value_or(0) == 0)
        stage_.reason = name_wrong_impulse(problem_, first, item.worst_place, item.worst_actual, item.worst_expected);
    }
    // Where a boundary repeats inputs several products meet, and a value between two halves may be rounded.
    const bool single = problem_.kind != Kind::depthwise_separable || problem_.padding_mode == PaddingMode::zeros;
    for (std::uint64_t seed = context_.seed; seed < context_.seed + 4; ++seed)
      judge(input_impulses(problem_, seed), single ? Demand::exact : Demand::bound, seed);
    return std::move(stage_);
  }

 private:
  void judge(const Impulses& impulses, Demand demand, std::uint64_t seed) {
    Session& session = context_.trial.session();
    session.upload(impulses.tensors.operands());
    add_case(stage_,
             context_.examiner.compute_and_judge(context_.trial,
                                                 {.tensors = impulses.what,
                                                  .demand = demand,
                                                  .seed = seed,
                                                  .samples = trial_samples(session, context_.request.device)}),
             problem_);
  }

  const StageContext& context_;
  const Problem& problem_;
  CheckStage stage_;
};

}  // namespace

CheckStage check_impulses(const StageContext& context) { return ImpulseStage(context).run(); }

}  // namespace tapconv
