#include "cpu/stage.hpp"

#include "cpu/plain_stage.hpp"
#include "cpu/separable_stage.hpp"
#include "cpu/transposed_stage.hpp"

namespace tapconv::cpu {

std::unique_ptr<Stage> make_stage(const Problem& problem, int threads, bool padding_multiplied) {
  if (problem.kind == Kind::depthwise_separable)
    return std::make_unique<SeparableStage>(problem, threads, padding_multiplied);
  if (auto plain = PlainStage::plan(problem, threads, padding_multiplied)) return plain;
  return std::make_unique<TransposedStage>(problem, threads, padding_multiplied);
}

}  // namespace tapconv::cpu
