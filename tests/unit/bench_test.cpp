#include "workbench/bench.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "all_outputs.hpp"
#include "engine/host_session.hpp"
#include "forwarding_session.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using std::chrono::steady_clock;

/// What a planted contender says and does.
struct Planted {
  std::string name;
  double ms = 10;      ///< that the device's clock shows of a call
  double wall_ms = 0;  ///< that a call takes
  double scale = 1;    ///< of the outputs: other than 1 is wrong
};

/// Writes the oracle's outputs, or others.
class PlantedExecutable final : public Executable {
 public:
  PlantedExecutable(Session& session, const Planted& planted) : session_(session), planted_(planted) {}

  [[nodiscard]] std::string name() const override { return planted_.name; }
  void run() override {
    const auto end = steady_clock::now() + std::chrono::duration<double, std::milli>(planted_.wall_ms);
    std::vector<std::int64_t> outputs = testing::all_outputs(session_.problem());
    std::vector<float> values;
    for (const OracleOutput& one : session_.evaluate(outputs, OperandRounding::exact))
      values.push_back(static_cast<float>(one.sequential * planted_.scale));
    session_.upload_output(std::as_bytes(std::span(values)));
    std::this_thread::sleep_until(end);
  }
  [[nodiscard]] double ms() const { return planted_.ms; }

 private:
  Session& session_;
  Planted planted_;
};

/// The host's session on a device of another name, with planted contenders; the clock shows what they say.
class PlantedSession final : public testing::ForwardingSession {
 public:
  PlantedSession(const Problem& problem, std::vector<Planted> planted)
      : ForwardingSession(open_host_session(problem, 1)),
        planted_(std::move(planted)),
        engine_(*this, planted_.front()) {}

  [[nodiscard]] std::string device_name() const override { return "NVIDIA H200"; }
  Executable& engine() override { return engine_; }
  [[nodiscard]] std::vector<std::unique_ptr<Executable>> references(const std::string&) override {
    std::vector<std::unique_ptr<Executable>> all;
    for (std::size_t i = 1; i < planted_.size(); ++i)
      all.push_back(std::make_unique<PlantedExecutable>(*this, planted_[i]));
    return all;
  }
  void chill() override { ++chills; }
  [[nodiscard]] double time(Executable& executable) override {
    executable.run();
    timed.push_back(executable.name());
    return dynamic_cast<PlantedExecutable&>(executable).ms();
  }
  [[nodiscard]] Condition condition() override {
    ++conditions;
    return {.readings = {{"sm_mhz", 1000.0 + conditions}},
            .power_capped = conditions == 2,
            .slowed = conditions == slowed_at};
  }

  int chills = 0, conditions = 0, slowed_at = 0;
  std::vector<std::string> timed;

 private:
  std::vector<Planted> planted_;
  PlantedExecutable engine_;
};

BenchRequest request() {
  BenchRequest request;
  request.problem = parse_problem("Conv1d(16, 8, 3, bias=False) @ 2x16x60");
  request.against = {"onednn"};
  request.rounds = 7;
  request.idle_ms = 0;
  request.sustained_s = 0;
  return request;
}

BenchReport bench_of(PlantedSession& session, const BenchRequest& asked = request()) {
  std::vector<TorchReference> none;
  return bench(session, asked, none, Refusal::fails);
}

const BenchEntry& entry_named(const BenchReport& report, const std::string& name) {
  return *std::ranges::find(report.references, name, &BenchEntry::name);
}

TEST(Bench, ItsFieldsAgree) {
  PlantedSession session(request().problem, {{.name = "ours", .ms = 10}, {.name = "theirs", .ms = 20}});
  const BenchReport report = bench_of(session);
  EXPECT_EQ(7, report.rounds);
  ASSERT_EQ(1u, report.references.size());
  for (const BenchEntry* entry : {&report.engine, &report.references.front()}) {
    EXPECT_EQ(7u, entry->spaced_rounds_ms.size());
    EXPECT_EQ(std::ranges::min(entry->spaced_rounds_ms), entry->spaced_min_ms);
    EXPECT_EQ(std::ranges::max(entry->spaced_rounds_ms), entry->spaced_max_ms);
    EXPECT_EQ("fp32", entry->arithmetic);
    EXPECT_LE(entry->max_bound_ratio, 1);
    ASSERT_TRUE(entry->rms_error && entry->max_error);
    EXPECT_GT(*entry->rms_error, 1e-9);  // of binary32 sums
    EXPECT_LT(*entry->max_error, 1e-5);
    EXPECT_LE(*entry->rms_error, *entry->max_error);
    EXPECT_FALSE(entry->implausible) << entry->doubt;
    EXPECT_EQ(0, entry->sustained_ms);
  }
  ASSERT_TRUE(report.ratio.has_value());
  EXPECT_EQ("theirs", report.ratio->reference);
  EXPECT_EQ(2, report.ratio->median);
  EXPECT_TRUE(report.ratio->converged);
  EXPECT_TRUE(report.power_capped);
  EXPECT_NEAR(1007.5, report.clocks.at("sm_mhz"), 0.1);
  EXPECT_GE(session.chills, 14) << "caches are cold before every timed call";
}

TEST(Bench, EveryRoundTimesEveryContenderInRandomOrder) {
  BenchRequest many = request();
  many.rounds = 40;
  PlantedSession session(many.problem, {{.name = "a"}, {.name = "b"}, {.name = "c"}});
  (void)bench_of(session, many);
  ASSERT_GE(session.timed.size(), 120u);
  const std::vector<std::string> rounds(session.timed.end() - 120, session.timed.end());
  std::map<std::string, int> orders;
  for (std::size_t i = 0; i < rounds.size(); i += 3) ++orders[rounds[i] + rounds[i + 1] + rounds[i + 2]];
  EXPECT_EQ(6u, orders.size()) << "every order of three comes up in 40 rounds, but for a chance of 0.4 %";
  for (const auto& [order, count] : orders) {
    std::string sorted = order;
    std::ranges::sort(sorted);
    EXPECT_EQ("abc", sorted);
  }
}

TEST(Bench, FlagsWhatIsTooFast) {
  PlantedSession session(request().problem,
                         {{.name = "ours"}, {.name = "theirs", .ms = 20}, {.name = "too fast", .ms = 1e-7}});
  const BenchReport report = bench_of(session);
  const BenchEntry& entry = entry_named(report, "too fast");
  EXPECT_TRUE(entry.implausible);
  EXPECT_NE(entry.doubt.find("physically possible"), std::string::npos) << entry.doubt;
  EXPECT_FALSE(entry_named(report, "theirs").implausible);
  ASSERT_TRUE(report.ratio.has_value());
  EXPECT_EQ("theirs", report.ratio->reference) << "an impossible time is no reference";
}

TEST(Bench, FlagsClocksThatDisagree) {
  BenchRequest sustained = request();
  sustained.sustained_s = 0.01;
  sustained.rounds = 1;
  // A call whose work the device's clock does not see, and one that took longer than the host waited for it.
  PlantedSession session(sustained.problem, {{.name = "hidden", .ms = 1, .wall_ms = 40},
                                             {.name = "inflated", .ms = 500, .wall_ms = 5},
                                             {.name = "honest", .ms = 40, .wall_ms = 40}});
  const BenchReport report = bench_of(session, sustained);
  EXPECT_TRUE(report.engine.implausible);
  EXPECT_NE(report.engine.doubt.find("by the host's"), std::string::npos) << report.engine.doubt;
  EXPECT_GE(report.engine.sustained_wall_ms, 40);
  EXPECT_TRUE(entry_named(report, "inflated").implausible);
  EXPECT_FALSE(entry_named(report, "honest").implausible) << entry_named(report, "honest").doubt;
}

TEST(Bench, JudgesEveryTimedCall) {
  PlantedSession session(request().problem, {{.name = "ours"}, {.name = "wrong", .ms = 1, .scale = 1.001}});
  const BenchReport report = bench_of(session);
  EXPECT_GT(report.references.front().max_bound_ratio, 1);
  EXPECT_NEAR(1e-3, report.references.front().rms_error.value(), 1e-6);
  EXPECT_EQ("unknown", report.references.front().arithmetic);
  EXPECT_FALSE(report.ratio.has_value()) << "a wrong result is no reference";
}

TEST(Bench, DropsARoundInWhichTheDeviceSlowedItselfDown) {
  PlantedSession session(request().problem, {{.name = "ours"}, {.name = "theirs"}});
  session.slowed_at = 3;
  const BenchReport report = bench_of(session);
  EXPECT_EQ(6, report.rounds);
  EXPECT_EQ(1, report.dropped_rounds);
  EXPECT_EQ(6u, report.engine.spaced_rounds_ms.size());
}

TEST(Bench, RefusesATimeThatIsNone) {
  for (const double ms :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    PlantedSession session(request().problem, {{.name = "ours", .ms = ms}, {.name = "theirs"}});
    EXPECT_THROW((void)bench_of(session), Error) << ms;
  }
}

}  // namespace
}  // namespace tapconv
