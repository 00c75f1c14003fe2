// The CPU engine on the golden vectors: within the contract of what PyTorch computes in float64.
#include <gtest/gtest.h>

#include <numeric>

#include "cpu/engine.hpp"
#include "golden.hpp"
#include "oracle/statistics.hpp"

namespace tapconv {
namespace {

TEST(CpuGolden, KeepsTheContractOfPyTorchsResults) {
  int count = 0;
  for (const testing::GoldenVector& vector : testing::golden_vectors()) {
    const Problem& p = vector.problem;
    SCOPED_TRACE(spell(p));
    const Operands operands = vector.operands();
    std::vector<std::int64_t> outputs(vector.output.size());
    std::iota(outputs.begin(), outputs.end(), std::int64_t{0});
    // K and S are the oracle's; the values are PyTorch's.
    std::vector<OracleOutput> expected = oracle(p, operands, outputs, OperandRounding::exact);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i].value = vector.output[i];

    cpu::Convolution convolution(p, 1);
    convolution.set_weights({.weight = operands.weight,
                             .bias = operands.bias,
                             .pointwise_weight = operands.pointwise_weight,
                             .pointwise_bias = operands.pointwise_bias});
    std::vector<float> actual(vector.output.size());
    convolution.run(operands.input, operands.residual, std::as_writable_bytes(std::span(actual)));
    ErrorStatistics statistics(p);
    statistics.add(outputs, std::vector<double>(actual.begin(), actual.end()), expected);
    EXPECT_EQ(0, statistics.violations()) << "worst ratio " << statistics.worst_ratio();
    ++count;
  }
  EXPECT_EQ(500, count);
}

}  // namespace
}  // namespace tapconv
