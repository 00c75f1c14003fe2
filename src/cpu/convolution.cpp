#include <algorithm>
#include <numeric>

#include "cpu/engine.hpp"
#include "cpu/primitive.hpp"
#include "oracle/oracle.hpp"
#include "problem/element_places.hpp"

namespace tapconv::cpu {

// Scaffold: the oracle behind the CPU engine's interface.
struct Convolution::Plan {
  Problem problem;
  std::vector<std::byte> weight{}, bias{}, pointwise_weight{}, pointwise_bias{};
};

Convolution::Convolution(const Problem& problem, int threads) : plan_(std::make_unique<Plan>(Plan{problem})) {
  (void)thread_count(threads);
}
Convolution::Convolution(Convolution&&) noexcept = default;
Convolution& Convolution::operator=(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

std::string Convolution::implementation() const { return "scaffold"; }

void Convolution::set_weights(const Weights& w) {
  plan_->weight.assign(w.weight.begin(), w.weight.end());
  plan_->bias.assign(w.bias.begin(), w.bias.end());
  plan_->pointwise_weight.assign(w.pointwise_weight.begin(), w.pointwise_weight.end());
  plan_->pointwise_bias.assign(w.pointwise_bias.begin(), w.pointwise_bias.end());
}

void Convolution::set_sizes(std::int64_t batch, const Extent& input) {
  Problem problem = plan_->problem;
  problem.batch = batch;
  problem.input = input;
  validate(problem);
  plan_->problem = problem;
}

void Convolution::run(std::span<const std::byte> input, std::span<const std::byte> residual,
                      std::span<std::byte> output) {
  const Problem& p = plan_->problem;
  std::vector<std::int64_t> outputs(static_cast<std::size_t>(element_count(output_shape(p))));
  std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
  const ElementPlaces place(output_shape(p), p.layout);
  const std::vector<OracleOutput> values = oracle(p,
                                                  {.input = input,
                                                   .weight = plan_->weight,
                                                   .bias = plan_->bias,
                                                   .pointwise_weight = plan_->pointwise_weight,
                                                   .pointwise_bias = plan_->pointwise_bias,
                                                   .residual = residual},
                                                  outputs, operand_rounding(p.contract, p.tie_rule));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    store_element(output.data(), p.out_dtype, place(outputs[i]), values[i].value);
}

std::string version() {
  const dnnl_version_t& version = *dnnl::version();
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

}  // namespace tapconv::cpu
