#include <algorithm>
#include <cmath>
#include <optional>

#include "cpu/engine.hpp"
#include "cpu/operands.hpp"
#include "cpu/primitive.hpp"

namespace tapconv::cpu {
namespace {

Primitive plan_primitive(const Problem& problem, int threads) {
  check_limits(problem);
  return {with_onednn(threads, [&] { return choose(problem); }), threads};
}

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

struct Convolution::Plan {
  Plan(const Problem& p, int thread_number)
      : problem(p),
        threads(thread_number),
        rounding(operand_rounding(p.contract, p.tie_rule)),
        primitive(plan_primitive(p, thread_number)) {
    if (rounding != OperandRounding::exact) copy.emplace(problem, false);
  }

  /// oneDNN skips padded positions; a weight that is not finite must meet their zeros, so they are written out.
  void write_out_padding() {
    if (padding_written_out) return;
    primitive = plan_primitive(without_padding(problem), threads);
    copy.emplace(problem, true);
    padding_written_out = true;
  }

  Problem problem;
  int threads;
  OperandRounding rounding;
  Primitive primitive;
  std::optional<PaddedInput> copy;  ///< if the inputs have to be rounded or padded
  bool padding_written_out = false;
  bool has_weights = false;
};

Convolution::Convolution(const Problem& problem, int threads)
    : plan_(std::make_unique<Plan>(problem, thread_count(threads))) {}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

std::string Convolution::implementation() const { return plan_->primitive.name(); }

void Convolution::set_weights(std::span<const float> weight, std::span<const float> bias) {
  check_weights(plan_->problem, weight, bias);
  plan_->has_weights = false;
  std::vector<float> rounded;
  if (plan_->rounding != OperandRounding::exact) {
    rounded.assign(weight.begin(), weight.end());
    for (float& value : rounded) value = round_operand(value, plan_->rounding);
    weight = rounded;
  }
  if (has_padding(plan_->problem) && !all_finite(weight)) {
    plan_->write_out_padding();
  } else if (plan_->padding_written_out) {
    plan_ = std::make_unique<Plan>(plan_->problem, plan_->threads);
  }
  plan_->primitive.set_weights(weight.data(), bias.empty() ? nullptr : bias.data());
  plan_->has_weights = true;
}

void Convolution::run(std::span<const float> input, std::span<float> output) {
  check_tensors(plan_->problem, input, output);
  if (!plan_->has_weights) fail(ErrorCode::usage, "weight: none set; valid: set_weights() before run()");
  if (plan_->copy) input = plan_->copy->fill(input, plan_->rounding, plan_->threads);
  plan_->primitive.run(input.data(), output.data());
}

std::string version() {
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace tapconv::cpu
