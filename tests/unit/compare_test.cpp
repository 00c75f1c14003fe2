#include "tapconv/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "tapconv/error.hpp"

namespace tapconv {
namespace {

using Json = nlohmann::json;

std::string problem_of(int number) { return "Conv1d(4, 6, 3) @ 2x4x" + std::to_string(10 + number); }

/// What bench writes of a problem whose rounds took so long.
Json report(int number, std::vector<double> rounds_ms) {
  std::vector<double> sorted = rounds_ms;
  std::ranges::sort(sorted);
  return {{"problem", problem_of(number)},
          {"as_declared", true},
          {"engine",
           {{"spaced_ms", sorted[sorted.size() / 2]},
            {"spaced_rounds_ms", rounds_ms},
            {"max_bound_ratio", 0.5},
            {"implausible", false}}}};
}

Json suite(const std::vector<Json>& reports) {
  Json document{
      {"device_name", "NVIDIA H200"}, {"threads", 0}, {"protocol", {{"idle_ms", 40.0}}}, {"rows", Json::array()}};
  for (const Json& one : reports)
    document["rows"].push_back({{"name", "row " + one.at("problem").get<std::string>()}, {"report", one}});
  return document;
}

BenchComparison compare(const Json& a, const Json& b, bool force = false) {
  return compare_benches(a.dump(), "a.json", b.dump(), "b.json", force);
}

/// `count` times with 1 % of noise.
std::vector<double> times(std::mt19937& random, double ms, int count = 15) {
  std::lognormal_distribution<double> noise(0, 0.01);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.push_back(ms * noise(random));
  return all;
}

TEST(Compare, FindsAPlantedChange) {
  std::mt19937 random(1);
  std::vector<Json> a, b;
  for (int i = 0; i < 35; ++i) {
    a.push_back(report(i, times(random, 1 + i)));
    b.push_back(report(i, times(random, (1 + i) * (i == 3 ? 1.03 : i == 7 ? 0.97 : 1))));
  }
  const BenchComparison comparison = compare(suite(a), suite(b));
  ASSERT_EQ(35u, comparison.rows.size());
  EXPECT_EQ(1, comparison.slower);
  EXPECT_EQ(1, comparison.faster);
  EXPECT_EQ(33, comparison.unclear);
  EXPECT_EQ(problem_of(3), comparison.rows.front().problem);
  EXPECT_EQ(Change::slower, comparison.rows.front().change);
  EXPECT_EQ(problem_of(7), comparison.rows.back().problem);
  EXPECT_EQ(Change::faster, comparison.rows.back().change);
  ASSERT_TRUE(comparison.rows.front().interval.has_value());
  EXPECT_LT(comparison.rows.front().interval->low, 1.03);
  EXPECT_GT(comparison.rows.front().interval->high, 1.03);
  EXPECT_NEAR(1.0, *comparison.geometric_mean, 0.005);
}

TEST(Compare, NoiseAloneIsSeldomAChange) {
  std::mt19937 random(2);
  int alarms = 0;
  constexpr int trials = 200;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<Json> a, b;
    for (int i = 0; i < 20; ++i) {
      a.push_back(report(i, times(random, 1)));
      b.push_back(report(i, times(random, 1)));
    }
    const BenchComparison comparison = compare(suite(a), suite(b));
    alarms += comparison.faster + comparison.slower > 0;
  }
  // The level, and three standard deviations of a share of 200.
  EXPECT_LE(alarms, trials * (comparison_level + 0.047));
}

TEST(Compare, IdenticalFilesDoNotDiffer) {
  std::mt19937 random(3);
  const Json same = suite({report(0, times(random, 1)), report(1, times(random, 2))});
  const BenchComparison comparison = compare(same, same);
  EXPECT_EQ(2, comparison.unclear);
  EXPECT_EQ(1, *comparison.geometric_mean);
  for (const ComparedRow& row : comparison.rows) EXPECT_EQ(1, row.ratio);
}

TEST(Compare, MatchesByNameThenByProblem) {
  std::mt19937 random(4);
  Json a = suite({report(0, times(random, 1)), report(0, times(random, 2)), report(5, times(random, 1))});
  Json b = suite({report(0, times(random, 2)), report(0, times(random, 1)), report(6, times(random, 1))});
  a["rows"][0]["name"] = b["rows"][1]["name"] = "one";
  a["rows"][1]["name"] = b["rows"][0]["name"] = "two";
  const BenchComparison comparison = compare(a, b);
  ASSERT_EQ(2u, comparison.rows.size());
  for (const ComparedRow& row : comparison.rows) EXPECT_NEAR(1, row.ratio, 0.05) << row.name;
  EXPECT_EQ(std::vector<std::string>{"row " + problem_of(5)}, comparison.only_in_a);
  EXPECT_EQ(std::vector<std::string>{"row " + problem_of(6)}, comparison.only_in_b);

  // A file of one problem has no names, and another spelling is the same problem.
  Json single = report(0, times(random, 1));
  single.update({{"device_name", "NVIDIA H200"}, {"threads", 0}, {"protocol", {{"idle_ms", 40.0}}}});
  single["problem"] = "nn.Conv1d(4, 6, kernel_size=3) @ (2, 4, 10)";
  const BenchComparison mixed = compare(single, a);
  ASSERT_EQ(1u, mixed.rows.size());
  EXPECT_EQ("one", mixed.rows.front().name);
  EXPECT_EQ(2u, mixed.only_in_b.size());
}

TEST(Compare, WithoutTimesOfRoundsThereIsNoInterval) {
  std::mt19937 random(5);
  Json old = report(0, times(random, 1));
  old["engine"].erase("spaced_rounds_ms");
  const BenchComparison comparison = compare(suite({old}), suite({report(0, times(random, 3))}));
  const ComparedRow& row = comparison.rows.front();
  EXPECT_EQ(Change::unclear, row.change);
  EXPECT_FALSE(row.interval.has_value());
  EXPECT_FALSE(row.p_value.has_value());
  EXPECT_EQ("no interval: no times of rounds in A", row.note);
  EXPECT_NEAR(3, row.ratio, 0.1);

  const BenchComparison few = compare(suite({report(0, times(random, 1, 3))}), suite({report(0, times(random, 3, 3))}));
  EXPECT_EQ(Change::unclear, few.rows.front().change);
  EXPECT_EQ("no interval: too few rounds", few.rows.front().note);
}

TEST(Compare, WrongAndImplausibleTimesDoNotCount) {
  std::mt19937 random(6);
  const Json right = report(0, times(random, 1));
  Json wrong = report(0, times(random, 0.1)), undeclared = wrong, infinite = wrong, impossible = wrong;
  wrong["engine"]["max_bound_ratio"] = 1.5;
  infinite["engine"]["max_bound_ratio"] = nullptr;
  undeclared["as_declared"] = false;
  impossible["engine"]["implausible"] = true;
  for (const Json& bad : {wrong, infinite, undeclared, impossible}) {
    const BenchComparison comparison = compare(suite({right}), suite({bad}));
    EXPECT_EQ(Change::not_comparable, comparison.rows.front().change);
    EXPECT_EQ(1, comparison.not_comparable);
    EXPECT_EQ(bad == impossible ? 0 : 1, comparison.newly_wrong);
    EXPECT_FALSE(comparison.geometric_mean.has_value());
    EXPECT_EQ(0, compare(suite({bad}), suite({bad})).newly_wrong);
  }
}

TEST(Compare, RefusesOtherDevicesAndProtocols) {
  std::mt19937 random(7);
  const Json a = suite({report(0, times(random, 1))});
  for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{
           {"device_name", "NVIDIA A100"}, {"threads", 4}, {"protocol", {{"idle_ms", 1.0}}}}) {
    Json b = a;
    b[field] = value;
    EXPECT_THROW((void)compare(a, b), Error) << field;
    EXPECT_EQ(1u, compare(a, b, true).differences.size()) << field;
    b.erase(field);
    EXPECT_THROW((void)compare(a, b), Error) << field;
  }
  Json more_rounds = a;
  more_rounds["protocol"]["rounds"] = 30;
  EXPECT_TRUE(compare(a, more_rounds).differences.empty());
}

TEST(Compare, RefusesWhatIsNoResult) {
  std::mt19937 random(8);
  const Json good = suite({report(0, times(random, 1))});
  std::vector<std::string> texts{"",
                                 "{",
                                 "[]",
                                 "3",
                                 "null",
                                 "{}",
                                 R"({"rows": 3})",
                                 R"({"rows": [3]})",
                                 std::string(100000, '['),
                                 "\xff\xfe",
                                 R"({"engine": 1e999})"};
  const auto spoil = [&](const char* path, const Json& value) {
    Json bad = good;
    bad[Json::json_pointer(path)] = value;
    texts.push_back(bad.dump());
  };
  const std::string engine = "/rows/0/report/engine";
  for (const Json& value : std::vector<Json>{-1, 0, "1", nullptr, Json::array()}) {
    spoil((engine + "/spaced_ms").c_str(), value);
    spoil((engine + "/spaced_rounds_ms").c_str(), Json::array({1.0, value}));
  }
  spoil((engine + "/spaced_rounds_ms").c_str(), std::vector<double>(1001, 1.0));
  spoil((engine + "/spaced_rounds_ms").c_str(), Json::object());
  spoil((engine + "/max_bound_ratio").c_str(), "0.5");
  spoil((engine + "/implausible").c_str(), 1);
  spoil("/rows/0/report/problem", "Conv2d");
  spoil("/rows/0/report/as_declared", "yes");
  spoil("/rows/0/name", 5);
  spoil("/protocol", 5);
  spoil("/rows", std::vector<Json>(5000, good["rows"][0]));
  for (const char* const field : {"spaced_ms", "max_bound_ratio", "implausible"}) {
    Json bad = good;
    bad["rows"][0]["report"]["engine"].erase(field);
    texts.push_back(bad.dump());
  }
  for (const std::string& text : texts) {
    const std::string shown = text.substr(0, 80);
    try {
      (void)compare_benches(good.dump(), "a.json", text, "b.json", true);
      ADD_FAILURE() << shown;
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCode::usage, error.code()) << shown;
      EXPECT_NE(std::string(error.what()).find("b.json"), std::string::npos) << error.what();
    }
  }
}

TEST(Compare, RowsWithoutATimeArePassedOver) {
  std::mt19937 random(9);
  Json a = suite({report(0, times(random, 1)), report(1, times(random, 1))});
  a["rows"][1]["report"] = nullptr;
  const BenchComparison comparison = compare(a, suite({report(0, times(random, 1)), report(1, times(random, 1))}));
  EXPECT_EQ(1u, comparison.rows.size());
  EXPECT_EQ(1u, comparison.only_in_b.size());
  EXPECT_EQ(0, comparison.newly_wrong);
}

TEST(Compare, ARowThatFailsInBIsNewlyWrong) {
  std::mt19937 random(9);
  const Json a = suite({report(0, times(random, 1)), report(1, times(random, 1))});
  Json b = a;
  b["rows"][1]["report"] = nullptr;
  EXPECT_EQ(1, compare(a, b).newly_wrong);
}

TEST(Compare, DeepNestingIsRefused) {
  const std::string deep = "{\"device_name\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_THROW((void)compare_benches(deep, "deep.json", deep, "deep.json", true), Error);
}

}  // namespace
}  // namespace tapconv
