// The trials themselves: a solver with a fault is found out.
#include <cstdlib>

#include "trial.hpp"

namespace tapconv {
namespace {

/// Computes output[i] = input[i] * weight[0] of 100 floats, with a fault.
class FaultySolver final : public Solver {
 public:
  explicit FaultySolver(std::string fault) : fault_(std::move(fault)) {}

  [[nodiscard]] std::string_view name() const override { return "faulty"; }
  [[nodiscard]] Support supports(const Task&, const DeviceModel&) const override { return {}; }
  [[nodiscard]] std::vector<Candidate> candidates(const Task&, const DeviceModel&) const override {
    return {{.configuration = "only"}};
  }
  [[nodiscard]] KernelPlan plan(const Task&, std::string_view, const DeviceModel&) const override {
    const std::string text = R"(#include "tapconv/shared.cuh"
extern "C" __global__ void faulty(const __grid_constant__ tapconv::shared::Arguments arguments) {
  const float* const input = static_cast<const float*>(arguments.tensors.input);
  const float* const weight = static_cast<const float*>(arguments.tensors.weight);
  float* const output = static_cast<float*>(arguments.tensors.output);
  int first = 0, count = 100;
  float more = 0;
  )" + fault_ + R"(
  for (int i = first; i < count; ++i) output[i] = input[i] * weight[0] + more;
}
)";
    return {.source = {.text = text, .entry = "faulty"},
            .launch = [](const shared::Sizes&) { return cuda::LaunchShape{}; },
            .packing = std::nullopt,
            .k_order = {}};
  }

 private:
  std::string fault_;
};

class Harness : public testing::GpuTest {
 protected:
  /// What the trials make of a fault.
  static std::string found(const std::string& fault) {
    const Problem problem = parse_problem("Conv1d(1, 1, 1, bias=False, math=ieee) @ 1x1x100");
    const FaultySolver solver(fault);
    testing::SolverPlan plan(problem, solver, model());
    plan.load(context());
    const std::string contract = testing::contract_trial(plan, context(), 1);
    EXPECT_EQ(contract.empty(), testing::exact_trial(plan, context(), 2).empty());
    return contract;
  }

  static void expect_found(const std::string& fault, const std::string& sentence) {
    EXPECT_NE(found(fault).find(sentence), std::string::npos) << fault << ": " << found(fault);
  }
};

TEST_F(Harness, HasNothingAgainstARightSolver) { EXPECT_EQ("", found("")); }

TEST_F(Harness, FindsStrayWrites) {
  expect_found("output[100] = 1;", "a byte outside of the output was written");
  expect_found("output[-1] = 1;", "a byte outside of the output was written");
  expect_found("const_cast<float*>(input)[99] = 1;", "a byte outside of the output was written");
  expect_found("const_cast<float*>(weight)[1] = 1;", "a byte outside of the output was written");
}

TEST_F(Harness, FindsOutputsThatAreNotWritten) {
  expect_found("count = 99;",
               "outputs are not written, or depend on other memory or on chance; the first one lies at "
               "byte 396 of 400");
  expect_found("first = 1;", "the first one lies at byte 0 of 400");
}

TEST_F(Harness, FindsReadsThatMatter) {
  expect_found("more = input[100];", "outputs are not written, or depend on other memory");
  expect_found("more = output[50];", "outputs are not written, or depend on other memory");
}

TEST_F(Harness, FindsResultsThatChange) {
  expect_found("more = float(clock64() & 0xffff);", "outputs are not written, or depend on other memory or on chance");
}

TEST_F(Harness, FindsWrongValues) {
  expect_found("more = 1;", "break the bound");
  EXPECT_NE("", found("count = 50; for (int i = 50; i < 100; ++i) output[i] = 2 * input[i];"));
}

TEST_F(Harness, DeviceAndMemoryThatAreNotThereAreErrors) {
  EXPECT_THROW((void)Session::open(parse_problem("kb56"), {.kind = Device::Kind::cuda, .index = 99}), Error);
  try {
    (void)open(parse_problem("Conv1d(1, 1, 1) @ 1000000x1x1000000"));
    FAIL() << "4 TB were allocated";
  } catch (const Error& error) {
    EXPECT_EQ(ErrorCode::memory, error.code());
    EXPECT_NE(std::string(error.what()).find("4000000000000 bytes of device memory are needed"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tapconv
