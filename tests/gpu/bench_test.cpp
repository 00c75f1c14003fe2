// What is too fast to be true is flagged, by the device's own clock.
#include "workbench/bench.hpp"

#include <algorithm>

#include "../unit/forwarding_session.hpp"
#include "gpu_test.hpp"
#include "problem/ceilings.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

/// Writes the first output alone, and the first number of the packed weights.
class HastySolver final : public Solver {
 public:
  [[nodiscard]] std::string_view name() const override { return "hasty"; }
  [[nodiscard]] Support supports(const Task&, const DeviceModel&) const override { return {}; }
  [[nodiscard]] std::vector<Candidate> candidates(const Task&, const DeviceModel&) const override {
    return {{.configuration = "only"}};
  }
  [[nodiscard]] KernelPlan plan(const Task&, std::string_view, const DeviceModel&) const override {
    const cuda::KernelSource source{.text = R"(#include "tapconv/shared.cuh"
extern "C" __global__ void hasty(const __grid_constant__ tapconv::shared::Arguments arguments) {
  static_cast<float*>(arguments.tensors.output)[0] = 1;
}
)",
                                    .entry = "hasty"};
    return {.source = source,
            .launch = [](const shared::Sizes&) { return cuda::LaunchShape{}; },
            .packing = KernelPlan::Packing{.source = source, .launch = {}, .bytes = sizeof(float), .layout = {}},
            .k_order = {}};
  }
};

/// Fills the output while it is timed and leaves the computing to what is not.
class LateExecutable final : public Executable {
 public:
  explicit LateExecutable(Session& session) : session_(session) {}

  [[nodiscard]] std::string name() const override { return "late"; }
  void prepare() override { session_.engine().prepare(); }
  void run() override { session_.poison(); }
  void finish() override { session_.engine().run(); }

 private:
  Session& session_;
};

/// The device's session whose library is what is planted.
class PlantedSession final : public testing::ForwardingSession {
 public:
  using ForwardingSession::ForwardingSession;

  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string&) override {
    std::vector<std::unique_ptr<Executable>> planted;
    planted.push_back(engine_by([this](const Task&, const DeviceModel&) {
      return Choice{.solver = &hasty_, .candidate = {.configuration = "only"}, .verdicts = {}};
    }));
    planted.push_back(std::make_unique<LateExecutable>(*this));
    return planted;
  }

 private:
  HastySolver hasty_;
};

using BenchOnGpu = testing::GpuTest;

TEST_F(BenchOnGpu, FlagsWhatIsTooFast) {
  BenchRequest request;
  request.problem = parse_problem("Conv2d(64, 128, (5,7), bias=False, math=ieee) @ 2x64x300x200");
  request.device = {.kind = Device::Kind::cuda, .index = 0};
  request.against = {"cudnn"};
  request.rounds = 25;  // of which one will not wait for other tests on the device
  request.idle_ms = 0;
  request.sustained_s = 0;
  PlantedSession session(open(request.problem));
  if (!find_floor(request.problem, session.device_name())) GTEST_SKIP() << "no limits are known of this device";
  std::vector<TorchReference> none;
  const BenchReport report = bench(session, request, none, Refusal::fails);
  EXPECT_FALSE(report.engine.implausible) << report.engine.doubt;
  ASSERT_EQ(2u, report.references.size());
  for (const BenchEntry& entry : report.references) {
    EXPECT_TRUE(entry.implausible) << entry.name << ": " << entry.spaced_min_ms << " ms";
    EXPECT_NE(entry.doubt.find("physically possible"), std::string::npos) << entry.name << ": " << entry.doubt;
    // A time can be wrong though the outputs are right.
    EXPECT_EQ(entry.name == "late", entry.max_bound_ratio <= 1) << entry.name << ": " << entry.max_bound_ratio;
  }
  EXPECT_FALSE(report.ratio.has_value()) << "an impossible time is no reference";
}

}  // namespace
}  // namespace tapconv
