#include "cpu/plain_stage.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cpu/convert.hpp"
#include "cpu/limits.hpp"

namespace tapconv::cpu {
namespace {

/// Whether padding adds positions to the input.
bool adds_positions(const Problem& p) {
  const auto adds = [](std::int64_t value) { return value > 0; };
  return p.kind != Kind::transposed &&
         (std::ranges::any_of(p.padding_lo, adds) || std::ranges::any_of(p.padding_hi, adds));
}

/// Whether padding adds positions that oneDNN does not treat as the contract has it.
bool writes_padding_out(const Problem& p, bool padding_multiplied) {
  if (p.kind == Kind::transposed) return false;
  bool crops_all = false;
  for (int axis = 0; axis < p.rank; ++axis) {
    const std::int64_t lo = p.padding_lo[axis], hi = p.padding_hi[axis];
    crops_all = crops_all || p.input[axis] + std::min<std::int64_t>(lo, 0) + std::min<std::int64_t>(hi, 0) < 1;
  }
  return crops_all || (adds_positions(p) && (padding_multiplied || p.padding_mode != PaddingMode::zeros));
}

/// The same convolution on an input that already holds what the padding stands for.
Problem without_padding(const Problem& problem) {
  Problem result = problem;
  for (int axis = 0; axis < problem.rank; ++axis)
    result.input[axis] += problem.padding_lo[axis] + problem.padding_hi[axis];
  result.padding_lo = result.padding_hi = {0, 0, 0};
  result.padding_mode = PaddingMode::zeros;
  return result;
}

/// Whether oneDNN's activation keeps the bound of activated_error(). Its ReLU makes 0 of NaN in some implementations;
/// its exact GELU overflows from 2^127 on; the slope is a float.
bool is_good(const Problem& p) {
  switch (p.activation) {
    case Activation::none:
    case Activation::silu:
    case Activation::gelu_tanh:
      return true;
    case Activation::leaky_relu:
      return std::isnormal(static_cast<float>(p.negative_slope));
    case Activation::relu:
    case Activation::gelu:
      return false;
  }
  return false;
}

struct Choice {
  Request request;
  std::optional<Description> description;
};

/// oneDNN takes the epilogue, if it does so well and by the same implementation.
Choice choose_epilogue(const Problem& problem) {
  Choice plain{{.problem = problem}, {}};
  plain.description = choose(plain.request);
  const bool has_epilogue = problem.residual || problem.activation != Activation::none;
  if (!plain.description || !has_epilogue || !is_good(problem)) return plain;
  Choice whole{{.problem = problem, .residual = problem.residual, .activation = problem.activation}, {}};
  whole.description = choose(whole.request);
  const auto implementation = [](const Choice& choice) {
    return std::string_view(choice.description->primitive.impl_info_str());
  };
  return whole.description && implementation(whole) == implementation(plain) ? whole : plain;
}

}  // namespace

std::unique_ptr<PlainStage> PlainStage::plan(const Problem& problem, int threads, bool padding_multiplied) {
  check_limits(problem);
  if (problem.kind == Kind::transposed && (padding_multiplied || !is_deconvolution(problem))) return nullptr;
  const bool padded = writes_padding_out(problem, padding_multiplied);
  // oneDNN could convert 16-bit types as it reorders, but without instructions for them it is slow at that.
  const bool converted =
      problem.dtype != DType::float32 || operand_rounding(problem.contract, problem.tie_rule) != OperandRounding::exact;
  Problem computed = padded ? without_padding(problem) : problem;
  computed.dtype = DType::float32;
  std::optional<InputCopy> copy;
  if (padded || converted) {
    constexpr Extent none{0, 0, 0};
    copy.emplace(problem, padded ? problem.padding_lo : none, padded ? problem.padding_hi : none);
  }
  const Choice choice = with_onednn(threads, [&] { return choose_epilogue(computed); });
  if (!choice.description) {
    if (problem.kind == Kind::transposed) return nullptr;
    // oneDNN has no good implementation for some paddings longer than the filter.
    if (!padded && adds_positions(problem)) return plan(problem, threads, true);
    fail(ErrorCode::environment, "oneDNN {} has no implementation of a convolution for this processor", version());
  }
  return std::unique_ptr<PlainStage>(
      new PlainStage(problem, threads, std::move(copy), choice.request, *choice.description));
}

PlainStage::PlainStage(const Problem& problem, int threads, std::optional<InputCopy> copy, const Request& request,
                       const Description& description)
    : problem_(problem),
      threads_(threads),
      copy_(std::move(copy)),
      primitive_(request, description, threads),
      residual_by_primitive_(request.residual),
      rest_(epilogue_of(problem)),
      outputs_(element_count(output_shape(problem))) {
  if (request.residual) rest_.residual = false;
  if (request.activation != Activation::none) rest_.activation = Activation::none;
}

std::string PlainStage::implementation() const {
  std::string text = primitive_.name();
  if (copy_) text += ", after a copy of the input";
  if (!rest_.empty()) text += ", then an epilogue";
  return text;
}

void PlainStage::set_weights(const Weights& weights) {
  const OperandRounding rounding = problem_.dtype == DType::float32
                                       ? operand_rounding(problem_.contract, problem_.tie_rule)
                                       : OperandRounding::exact;
  const std::vector<float> bias = floats_of(weights.bias, problem_.dtype, OperandRounding::exact);
  const std::vector<float> weight = floats_of(weights.weight, problem_.dtype, rounding);
  set_weights(weight.data(), bias.empty() ? nullptr : bias.data());
}

void PlainStage::run(const std::byte* input, const std::byte* residual, std::byte* output, Workspace& workspace) {
  using Piece = Workspace::Piece;
  if (copy_) {
    float* copy = workspace.floats(Piece::copied_input, copy_->count());
    copy_->fill(input, copy, threads_);
    input = reinterpret_cast<const std::byte*>(copy);
  }
  std::byte* sum = output;
  if (problem_.out_dtype != DType::float32) sum = reinterpret_cast<std::byte*>(workspace.floats(Piece::sum, outputs_));
  primitive_.run(input, residual_by_primitive_ ? residual : nullptr, sum, workspace);
  if (!rest_.empty())
    rest_.apply(reinterpret_cast<const float*>(sum), rest_.residual ? residual : nullptr, output, outputs_, threads_);
}

}  // namespace tapconv::cpu
