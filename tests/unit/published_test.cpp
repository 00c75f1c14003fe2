#include "problem/published.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "problem/data.hpp"
#include "tapconv/error.hpp"

namespace tapconv {
namespace {

TEST(Published, HasEveryConvolutionInOrderOfName) {
  const nlohmann::json data = read_data("published.json");
  std::vector<std::string> expected;
  for (const auto& entry : data.at("problems")) {
    if (entry.at("kind") == "conv") expected.push_back(entry.at("id"));
  }
  std::ranges::sort(expected);
  ASSERT_EQ(expected.size(), 17U);
  std::vector<std::string> names;
  for (const auto& published : published_problems()) names.push_back(published.name);
  EXPECT_EQ(names, expected);
}

TEST(Published, FactsAgreeWithTheFile) {
  const nlohmann::json data = read_data("published.json");
  int compared = 0;
  for (const auto& entry : data.at("problems")) {
    const PublishedProblem* published = find_published(entry.at("id").get<std::string>());
    if (published == nullptr) continue;
    ++compared;
    SCOPED_TRACE(published->name);
    const Problem& problem = published->problem;
    EXPECT_NO_THROW(validate(problem));
    const std::vector<std::int64_t> output = entry.at("output");
    ASSERT_EQ(output.size(), static_cast<std::size_t>(problem.rank));
    EXPECT_TRUE(std::equal(output.begin(), output.end(), output_extent(problem).begin()));
    // Printed with 2 and 3 decimals.
    EXPECT_EQ(std::round(work(problem).flop / 1e7), std::round(entry.at("gflop").get<double>() * 1e2));
    EXPECT_EQ(std::round(work(problem).byte / 1e6), std::round(entry.at("gbyte").get<double>() * 1e3));
  }
  EXPECT_EQ(compared, 17);
}

TEST(Published, TwoProblemsInFull) {
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

  ASSERT_NE(find_published("kb87"), nullptr);
  EXPECT_EQ(find_published("kb87")->problem.tie_rule, TieRule::even);
  EXPECT_EQ(find_published("kb87")->reference_arithmetic, "tf32-rn");
}

TEST(Published, OtherKindsAreKnownButNotComputed) {
  EXPECT_EQ(find_published("kb57"), nullptr);
  EXPECT_EQ(uncomputed_kind("kb57"), "conv_transpose");
  EXPECT_EQ(uncomputed_kind("kb56"), "");
  EXPECT_EQ(uncomputed_kind("kb"), "");
  EXPECT_EQ(find_published(""), nullptr);
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
