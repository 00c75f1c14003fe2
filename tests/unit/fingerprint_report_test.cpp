#include <gtest/gtest.h>

#include <algorithm>

#include "all_outputs.hpp"
#include "engine/session.hpp"
#include "tapconv/error.hpp"
#include "tapconv/fingerprint.hpp"

namespace tapconv {
namespace {

FingerprintRequest request(const char* problem) {
  FingerprintRequest request;
  request.problem = parse_problem(problem);
  return request;
}

/// The session's problem as the oracle computes it, on the seed's uniform tensors.
Tensor oracle_output(const Problem& problem, std::uint64_t seed, OperandRounding rounding) {
  const std::unique_ptr<Session> session = Session::open(problem, Device{});
  session->fill(uniform_recipes(problem, seed));
  const std::vector<std::int64_t> outputs = testing::all_outputs(problem);
  std::vector<float> values;
  for (const OracleOutput& one : session->evaluate(outputs, rounding))
    values.push_back(static_cast<float>(one.sequential));
  return {output_shape(problem), values};
}

TEST(FingerprintReport, OfAGivenResult) {
  FingerprintRequest asked = request("Conv2d(16, 16, 3) @ 2x16x24x24");
  asked.of.clear();
  asked.tensors.seed = 4;
  asked.output = oracle_output(asked.problem, 4, OperandRounding::bf16);
  const FingerprintReport report = fingerprint(asked);
  ASSERT_EQ(1u, report.entries.size());
  const FingerprintEntry& entry = report.entries.front();
  EXPECT_EQ("given output", entry.name);
  EXPECT_EQ("bf16", entry.arithmetic);
  EXPECT_TRUE(entry.alternatives.empty());
  EXPECT_EQ(Summation::chain, entry.summation);
  EXPECT_EQ(std::size(all_operand_roundings), entry.hypotheses.size());
  EXPECT_TRUE(report.as_declared) << "of the engine, which was not asked";
  EXPECT_FALSE(report.agrees.has_value());
  asked.tensors.seed = 5;
  EXPECT_EQ("unknown", fingerprint(asked).entries.front().arithmetic) << "of other tensors";
}

TEST(FingerprintReport, SaysWhatTensorsCannotShow) {
  FingerprintRequest asked = request("Conv1d(8, 8, 1, bias=False) @ 1x8x64");
  asked.of.clear();
  asked.tensors.input = Tensor({1, 8, 64}, std::vector<float>(512, 1.0f));
  asked.tensors.weight = Tensor({8, 8, 1}, std::vector<float>(64, 0.5f));
  asked.output = Tensor({1, 8, 64}, std::vector<float>(512, 4.0f));
  const FingerprintEntry entry = fingerprint(asked).entries.front();
  EXPECT_EQ("undecided", entry.arithmetic);
  EXPECT_EQ((std::vector<std::string>{"fp32", "tf32-rna", "tf32-rn", "tf32-rz", "bf16", "fp16"}), entry.alternatives);
}

TEST(FingerprintReport, KnowsWhatWasPublishedOnTheDeviceThatItWasFoundOn) {
  int transposed = 0;
  for (const PublishedProblem& published : published_problems()) {
    EXPECT_EQ(published.reference_arithmetic, reference_arithmetic(published.problem, "NVIDIA H200"));
    EXPECT_EQ("", reference_arithmetic(published.problem, "NVIDIA A100-SXM4-80GB"));
    Problem other = published.problem;
    other.contract = Contract::ieee;
    other.tie_rule = TieRule::away;
    EXPECT_EQ(published.reference_arithmetic, reference_arithmetic(other, "NVIDIA H200"))
        << "whatever ours computes in";
    ++other.batch;
    EXPECT_EQ("", reference_arithmetic(other, "NVIDIA H200"));
    transposed += published.problem.kind == Kind::transposed;
  }
  EXPECT_GT(transposed, 0);
}

TEST(FingerprintReport, ComparesArithmetics) {
  EXPECT_TRUE(same_arithmetic("tf32-rn", "tf32-rn"));
  EXPECT_FALSE(same_arithmetic("tf32-rn", "tf32-rna"));
  EXPECT_FALSE(same_arithmetic("tf32-rn", "tf32 (to nearest, tie rule undecided)"));
  EXPECT_FALSE(same_arithmetic("fp32", "unknown"));
  EXPECT_TRUE(same_arithmetic("depthwise fp32, pointwise tf32", "tf32-rna"));
  EXPECT_TRUE(same_arithmetic("depthwise fp32, pointwise tf32", "tf32-rn"));
  EXPECT_FALSE(same_arithmetic("depthwise fp32, pointwise tf32", "fp32"));
}

TEST(FingerprintReport, RefusesWhatItCannotAnswer) {
  const auto refused = [](const FingerprintRequest& asked) {
    try {
      (void)fingerprint(asked);
    } catch (const Error& error) {
      return error.code() == ErrorCode::usage;
    }
    return false;
  };
  const FingerprintRequest good = request("Conv1d(8, 8, 3) @ 1x8x64");
  FingerprintRequest bad = good;
  bad.of = {"cudnn"};
  EXPECT_TRUE(refused(bad)) << "not on a CPU";
  bad.of = {"engine", "engine"};
  EXPECT_TRUE(refused(bad));
  bad.of = {};
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.worker_timeout_s = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.tensors.input = Tensor({1, 8, 64}, std::vector<float>(512, 1.0f));
  EXPECT_TRUE(refused(bad)) << "nothing would compute on it";
  bad = good;
  bad.output = Tensor({1, 8, 3}, std::vector<float>(24, 1.0f));
  EXPECT_TRUE(refused(bad)) << "another shape";
}

}  // namespace
}  // namespace tapconv
