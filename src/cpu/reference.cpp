#include <algorithm>

#include "cpu/convert.hpp"
#include "cpu/engine.hpp"
#include "cpu/limits.hpp"
#include "cpu/primitive.hpp"

namespace tapconv::cpu {
namespace {

/// Why oneDNN does not take the problem by itself; empty if it may.
std::string_view obstacle(const Problem& p) {
  if (p.dtype == DType::float64) return "dtype = float64";
  if (p.kind == Kind::depthwise_separable) return "a depthwise separable convolution";
  if (p.padding_mode != PaddingMode::zeros) return "padding that is not zeros";
  const auto negative = [](std::int64_t padding) { return padding < 0; };
  if (std::ranges::any_of(p.padding_lo, negative) || std::ranges::any_of(p.padding_hi, negative))
    return "negative padding";
  if (p.kind == Kind::transposed && !is_deconvolution(p)) return "a transposed convolution of these steps";
  return {};
}

}  // namespace

Reference::Reference(const Problem& problem, std::unique_ptr<Primitive> primitive)
    : problem_(problem), primitive_(std::move(primitive)), workspace_(std::make_unique<Workspace>()) {}
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
Reference::~Reference() = default;

std::string Reference::name() const { return primitive_->name(); }

void Reference::set_weights(const Weights& weights) {
  check_weights(problem_, weights);
  const std::vector<float> weight = floats_of(weights.weight, problem_.dtype, OperandRounding::exact);
  const std::vector<float> bias = floats_of(weights.bias, problem_.dtype, OperandRounding::exact);
  primitive_->set_weights(weight.data(), bias.empty() ? nullptr : bias.data());
}

void Reference::run(std::span<const std::byte> input, std::span<const std::byte> residual,
                    std::span<std::byte> output) {
  TensorBytes(problem_).check(input, residual, output);
  primitive_->run(input.data(), problem_.residual ? residual.data() : nullptr, output.data(), *workspace_);
}

std::vector<Reference> references(const Problem& problem, int threads) {
  if (const std::string_view reason = obstacle(problem); !reason.empty())
    fail(ErrorCode::usage, "oneDNN does not compute {} by itself; valid: a problem that it takes as one primitive",
         reason);
  check_limits(problem);
  const int count = thread_count(threads);
  const Request request{.problem = problem,
                        .compute = problem.dtype,
                        .result = problem.out_dtype,
                        .residual = problem.residual,
                        .activation = problem.activation};
  std::vector<Reference> found;
  for (const Arrangement arrangement : {Arrangement::preferred, Arrangement::contiguous, Arrangement::channels_last}) {
    const auto description = with_onednn(count, [&] { return describe(request, arrangement); });
    if (!description) continue;
    auto primitive = std::make_unique<Primitive>(request, *description, count);
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Reference& other) { return other.name() == primitive->name(); });
    if (!known && (found.empty() || !is_naive(*description))) found.emplace_back(problem, std::move(primitive));
  }
  if (found.empty())
    fail(ErrorCode::usage, "oneDNN has no primitive for {} in and {} out here; valid: types that it combines",
         name(problem.dtype), name(problem.out_dtype));
  return found;
}

}  // namespace tapconv::cpu
