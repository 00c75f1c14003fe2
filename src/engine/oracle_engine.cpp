#include "engine/oracle_engine.hpp"

#include <algorithm>
#include <numeric>

#include "problem/element_places.hpp"

namespace tapconv {

void compute_by_oracle(const Problem& problem, const Operands& operands, std::span<std::byte> output) {
  constexpr std::int64_t chunk = 1 << 20;
  const std::int64_t total = element_count(output_shape(problem));
  const ElementPlaces place(output_shape(problem), problem.layout);
  const OperandRounding rounding = operand_rounding(problem.contract, problem.tie_rule);
  std::vector<std::int64_t> outputs;
  for (std::int64_t begin = 0; begin < total; begin += chunk) {
    outputs.resize(static_cast<std::size_t>(std::min(chunk, total - begin)));
    std::iota(outputs.begin(), outputs.end(), begin);
    const std::vector<OracleOutput> values = oracle(problem, operands, outputs, rounding);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      store_element(output.data(), problem.out_dtype, place(outputs[i]), values[i].value);
  }
}

}  // namespace tapconv
