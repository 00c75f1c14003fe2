#include "workbench/check_stages.hpp"

#include <cmath>

#include "problem/text.hpp"
#include "workbench/distributions.hpp"
#include "workbench/exact_operands.hpp"
#include "workbench/neighbours.hpp"
#include "workbench/sentence.hpp"

namespace tapconv {
namespace {

CheckCase on_integers(const StageContext& context, Trial& trial, std::uint64_t seed) {
  const ExactOperands operands(trial.problem(), seed);
  trial.session().upload(operands.tensors.operands());
  return context.examiner.compute_and_judge(trial, {.tensors = "exact integers",
                                                    .demand = Demand::exact,
                                                    .seed = seed,
                                                    .samples = trial_samples(trial.session(), context.request.device)});
}

/// The subject on a neighbour. To refuse it is no fault, to fail is one.
void check_neighbour(const StageContext& context, const Neighbour& neighbour, std::uint64_t seed, CheckStage& stage) {
  try {
    Trial trial(context.request, neighbour.problem);
    CheckCase item = on_integers(context, trial, seed);
    item.tensors = fmt::format("exact integers, {}", neighbour.change);
    item.problem = spell(neighbour.problem);
    add_case(stage, std::move(item), neighbour.problem);
  } catch (const std::exception& failure) {
    const auto* error = dynamic_cast<const Error*>(&failure);
    if (error && error->code() == ErrorCode::usage) {
      stage.notes.push_back(fmt::format("{} is refused: {}", spell(neighbour.problem), failure.what()));
    } else if (stage.result == CheckStage::Result::passed) {
      stage.result = CheckStage::Result::failed;
      stage.reason = fmt::format("computing {} fails: {}", spell(neighbour.problem), failure.what());
    }
  }
}

}  // namespace

void add_case(CheckStage& stage, CheckCase item, const Problem& problem) {
  if (!is_right(item) && stage.result == CheckStage::Result::passed) {
    stage.result = CheckStage::Result::failed;
    stage.reason = fault_of(item, problem);
  }
  stage.cases.push_back(std::move(item));
}

CheckStage check_integers(const StageContext& context) {
  CheckStage stage;
  // An even seed makes the input the precise operand, an odd one the weights.
  for (const std::uint64_t seed : {2 * context.seed, 2 * context.seed + 1})
    add_case(stage, on_integers(context, context.trial, seed), context.trial.problem());
  return stage;
}

CheckStage check_distributions(const StageContext& context) {
  CheckStage stage;
  Session& session = context.trial.session();
  const Problem& problem = session.problem();
  std::uint64_t seed = context.seed;
  const auto judge = [&](const HostTensors& tensors, std::string name, Demand demand) {
    session.upload(tensors.operands());
    add_case(
        stage,
        context.examiner.compute_and_judge(context.trial, {.tensors = std::move(name),
                                                           .demand = demand,
                                                           .seed = seed,
                                                           .samples = trial_samples(session, context.request.device)}),
        problem);
    ++seed;
  };
  for (const double products : {1.0, 4.0, 16.0})
    judge(draw_sparse_operands(problem, products, seed), fmt::format("sparse tensors of about {:g} products", products),
          Demand::bound);
  for (const Distribution distribution : all_distributions)
    judge(draw_operands(problem, distribution, seed), std::string(name(distribution)),
          has_even_magnitudes(distribution) ? Demand::accuracy : Demand::bound);
  return stage;
}

CheckStage check_neighbours(const StageContext& context) {
  CheckStage stage;
  std::uint64_t seed = context.seed;
  for (const Neighbour& neighbour : neighbours(context.trial.problem()))
    check_neighbour(context, neighbour, seed++, stage);
  if (stage.cases.empty() && stage.result == CheckStage::Result::passed) {
    stage.result = CheckStage::Result::skipped;
    stage.reason = "every neighbour is refused";
  }
  return stage;
}

}  // namespace tapconv
