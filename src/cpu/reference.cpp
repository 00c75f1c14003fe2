#include <algorithm>

#include "cpu/engine.hpp"
#include "cpu/operands.hpp"
#include "cpu/primitive.hpp"

namespace tapconv::cpu {

Reference::Reference(const Problem& problem, std::unique_ptr<Primitive> primitive)
    : problem_(problem), primitive_(std::move(primitive)) {}
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
Reference::~Reference() = default;

std::string Reference::name() const { return primitive_->name(); }

void Reference::set_weights(std::span<const float> weight, std::span<const float> bias) {
  check_weights(problem_, weight, bias);
  primitive_->set_weights(weight.data(), bias.empty() ? nullptr : bias.data());
}

void Reference::run(std::span<const float> input, std::span<float> output) {
  check_tensors(problem_, input, output);
  primitive_->run(input.data(), output.data());
}

std::vector<Reference> references(const Problem& problem, int threads) {
  check_limits(problem);
  const int count = thread_count(threads);
  std::vector<Reference> found;
  for (const Arrangement arrangement : {Arrangement::preferred, Arrangement::contiguous, Arrangement::channels_last}) {
    const Description description = with_onednn(count, [&] { return describe(problem, arrangement); });
    auto primitive = std::make_unique<Primitive>(description, count);
    const bool known = std::any_of(found.begin(), found.end(),
                                   [&](const Reference& other) { return other.name() == primitive->name(); });
    if (!known && (found.empty() || !is_naive(description))) found.emplace_back(problem, std::move(primitive));
  }
  return found;
}

}  // namespace tapconv::cpu
