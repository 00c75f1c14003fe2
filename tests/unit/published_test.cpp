#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "problem/data.hpp"
#include "spelling/lists.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

const PublishedProblem* find_published(std::string_view name) {
  const auto found = std::ranges::find(published_problems(), name, &PublishedProblem::name);
  return found == published_problems().end() ? nullptr : &*found;
}

TEST(Published, HasEveryProblemInOrderOfName) {
  const nlohmann::json data = read_data("published.json");
  std::vector<std::string> expected;
  for (const auto& entry : data.at("problems")) expected.push_back(entry.at("id"));
  std::ranges::sort(expected);
  ASSERT_EQ(expected.size(), 35U);
  std::vector<std::string> names;
  for (const auto& published : published_problems()) names.push_back(published.name);
  EXPECT_EQ(names, expected);
}

TEST(Published, FactsAgreeWithTheFile) {
  const std::map<std::string, Kind> kinds{{"conv", Kind::convolution},
                                          {"conv_transpose", Kind::transposed},
                                          {"depthwise_separable", Kind::depthwise_separable}};
  const nlohmann::json data = read_data("published.json");
  std::map<Kind, int> compared;
  for (const auto& entry : data.at("problems")) {
    const PublishedProblem* published = find_published(entry.at("id").get<std::string>());
    ASSERT_NE(published, nullptr) << entry.at("id");
    SCOPED_TRACE(published->name);
    const Problem& problem = published->problem;
    EXPECT_NO_THROW(validate(problem));
    EXPECT_EQ(problem.kind, kinds.at(entry.at("kind")));
    ++compared[problem.kind];
    const std::vector<std::int64_t> output = entry.at("output");
    ASSERT_EQ(output.size(), static_cast<std::size_t>(problem.rank));
    EXPECT_TRUE(std::equal(output.begin(), output.end(), output_extent(problem).begin()));
    // Printed with 2 and 3 decimals.
    EXPECT_EQ(std::round(work(problem).flop / 1e7), std::round(entry.at("gflop").get<double>() * 1e2));
    EXPECT_EQ(std::round(work(problem).byte / 1e6), std::round(entry.at("gbyte").get<double>() * 1e3));
  }
  EXPECT_EQ(compared,
            (std::map<Kind, int>{{Kind::convolution, 17}, {Kind::transposed, 17}, {Kind::depthwise_separable, 1}}));
}

TEST(Published, ProblemsInFull) {
  Problem kb76;
  kb76.rank = 1;
  kb76.batch = kb76.in_channels = 64;
  kb76.out_channels = 128;
  kb76.input = {524280, 1, 1};
  kb76.kernel = {3, 1, 1};
  kb76.stride = {3, 1, 1};
  kb76.dilation = {4, 1, 1};
  kb76.bias = false;
  kb76.contract = Contract::tf32;
  ASSERT_NE(find_published("kb76"), nullptr);
  EXPECT_EQ(find_published("kb76")->problem, kb76);
  EXPECT_EQ(find_published("kb76")->reference_arithmetic, "tf32-rna");

  Problem kb72;
  kb72.kind = Kind::transposed;
  kb72.rank = 3;
  kb72.batch = 8;
  kb72.in_channels = kb72.out_channels = 32;
  kb72.input = {12, 24, 48};
  kb72.kernel = {3, 5, 7};
  kb72.stride = {2, 2, 2};
  kb72.padding_lo = kb72.padding_hi = {1, 2, 3};
  kb72.output_padding = {1, 1, 1};
  kb72.groups = 4;
  kb72.bias = false;
  ASSERT_NE(find_published("kb72"), nullptr);
  EXPECT_EQ(find_published("kb72")->problem, kb72);
  EXPECT_EQ(find_published("kb72")->reference_arithmetic, "fp32");

  ASSERT_NE(find_published("kb87"), nullptr);
  EXPECT_EQ(find_published("kb87")->problem.tie_rule, TieRule::even);
  EXPECT_EQ(find_published("kb87")->reference_arithmetic, "tf32-rn");
}

TEST(Published, EveryOneIsNamed) {
  for (const PublishedProblem& published : published_problems()) {
    const NamedProblem* named = find_named(published.name);
    ASSERT_NE(named, nullptr) << published.name;
    EXPECT_EQ(named->problem, published.problem);
    EXPECT_EQ(std::ranges::count(problem_names(), published.name), 1);
  }
}

TEST(Published, IsOneObjectForAllThreads) {
  std::array<const void*, 8> seen{};
  std::vector<std::thread> threads;
  for (auto& address : seen) threads.emplace_back([&address] { address = &published_problems(); });
  for (std::thread& thread : threads) thread.join();
  for (const void* address : seen) EXPECT_EQ(address, &published_problems());
}

TEST(Data, MissingFileIsAnInternalError) {
  try {
    const nlohmann::json data = read_data("absent.json");
    FAIL() << data;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_STREQ(error.what(), "data file absent.json is not embedded in the library");
  }
}

}  // namespace
}  // namespace tapconv
