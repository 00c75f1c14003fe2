#include "cpu/separable_stage.hpp"

#include "cpu/convert.hpp"

namespace tapconv::cpu {
namespace {

/// The halves, whose contracts together keep the problem's: operands of the depthwise half are never rounded.
Problem depthwise_half(const Problem& problem) {
  Problem half = stages(problem).front();
  half.contract = Contract::fp32;
  half.tie_rule = TieRule::away;
  half.out_dtype = DType::float32;
  return half;
}

Problem pointwise_half(const Problem& problem) {
  Problem half = stages(problem).back();
  half.dtype = DType::float32;
  if (problem.contract != Contract::tf32) half.contract = Contract::fp32;
  return half;
}

}  // namespace

SeparableStage::SeparableStage(const Problem& problem, int threads, bool padding_multiplied)
    : dtype_(problem.dtype),
      between_(element_count(output_shape(stages(problem).front()))),
      depthwise_(PlainStage::plan(depthwise_half(problem), threads, padding_multiplied)),
      pointwise_(PlainStage::plan(pointwise_half(problem), threads, padding_multiplied)) {}

std::string SeparableStage::implementation() const {
  return depthwise_->implementation() + "; " + pointwise_->implementation();
}

void SeparableStage::set_weights(const Weights& weights) {
  depthwise_->set_weights(
      {.weight = weights.weight, .bias = weights.bias, .pointwise_weight = {}, .pointwise_bias = {}});
  const std::vector<float> weight = floats_of(weights.pointwise_weight, dtype_, OperandRounding::exact);
  const std::vector<float> bias = floats_of(weights.pointwise_bias, dtype_, OperandRounding::exact);
  pointwise_->set_weights({.weight = std::as_bytes(std::span(weight)),
                           .bias = std::as_bytes(std::span(bias)),
                           .pointwise_weight = {},
                           .pointwise_bias = {}});
}

void SeparableStage::run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) {
  auto* between = reinterpret_cast<std::byte*>(workspace.floats(Workspace::Piece::between, between_));
  depthwise_->run(input, nullptr, between, workspace);
  pointwise_->run(between, residual, output, workspace);
}

}  // namespace tapconv::cpu
